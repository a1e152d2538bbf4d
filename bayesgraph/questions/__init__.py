"""Questions to a model or to a fitted estimator: whatever asks it more than once.

They are functions, such as ``bg.questions.flip(clf, evidence={"age": 63})``, and `ask` shows them
as methods: ``clf.ask.flip(evidence={"age": 63})``. Of an estimator the target is its class by
default.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    "bayesgraph",
    submod_attrs={
        "asking.by_rows": ["next_question_rows"],
        "asking.questionnaire": ["questionnaire"],
        "asking.ranking": ["next_question"],
        "causal.causal_graph": ["causal_graph"],
        "causal.effects": ["effect"],
        "compare.differences": ["diff"],
        "compare.table_drift": ["table_drift"],
        "explain.by_rows": ["contributions_rows"],
        "explain.item_ranking": ["top_items"],
        "explain.spoken": ["explanation"],
        "uncertainty.intervals": ["credible_intervals"],
        "what_if.flips": ["flip"],
        "what_if.nearest": ["nearest_rows"],
        "what_if.relevance": ["most_relevant"],
        "what_if.tornado": ["tornado"],
    },
)
