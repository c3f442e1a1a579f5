"""Values: what a sentence states that can be looked up word for word."""

from guardrails_plugins.core.values.extractor import extract
from guardrails_plugins.core.values.model import EQUIVALENCES, EQUIVALENCES_DEFAULT, Equivalence, Reading, Value

__all__ = ["EQUIVALENCES", "EQUIVALENCES_DEFAULT", "Equivalence", "Reading", "Value", "extract"]
