"""The secretary: notes of a conversation, picked clauses in the words of the speakers.

Statements of users come first. Statements of assistants count if they report an action or repeat the user. A corrected
value replaces the earlier one. Questions, courtesies and general knowledge are left out.

The worth of a clause is the sum of its signals. Clauses are picked by worth, by new information, and by length.
Source: measured on conversations in seven languages, see ADR 0009.

``clauses`` reads turns into clauses with their worth. ``retractions`` settles values that a speaker takes back in a
turn, and ``corrections`` those that a later turn replaces. ``echoes`` weighs what answers say about statements.
``notes`` picks clauses and composes the notes. The public names are for the other rooms.
"""

from commonplace.llm.extractive.clauses import Turn, read_turns
from commonplace.llm.extractive.notes import SPEAKER, take_notes

__all__ = ["SPEAKER", "Turn", "read_turns", "take_notes"]
