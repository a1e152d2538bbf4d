"""What to ask next: the worth of questions about a target, and sessions of questions."""

from bayesgraph.asking.by_rows import NextQuestions, next_question_rows
from bayesgraph.asking.questionnaire import Questionnaire, Step, questionnaire
from bayesgraph.asking.ranking import NextQuestion, RankedQuestion, next_question

__all__ = [
    "NextQuestion",
    "NextQuestions",
    "Questionnaire",
    "RankedQuestion",
    "Step",
    "next_question",
    "next_question_rows",
    "questionnaire",
]
