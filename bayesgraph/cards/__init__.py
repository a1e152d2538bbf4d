"""Model cards: what a model was fitted on, what it is made of, and how well it predicts."""

from bayesgraph.cards.model_card import ModelCard, card

__all__ = ["ModelCard", "card"]
