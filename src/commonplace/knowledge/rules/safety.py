"""Facts on which somebody's safety may depend: allergies and other dangers to health, and prohibitions. Pure."""

from typing import Final

from commonplace.knowledge.model.kinds import Fact
from commonplace.knowledge.rules.fact_stances import Statement
from commonplace.language.cues import Cues, tokens_of

_SAFETY: Final = Cues.of(
    "allerg*|anaphyla*|epipen|intoleran*|celiac|coeliac|asthma*|epilep*|diabet*|insulin|pacemaker|contraindicat*",
    "never|forbid*|forbade|prohibit*|banned|ban|bans|not allowed|do not|don t|does not eat|doesn t eat|must not",
    "mustn t|may not|cannot eat|can t eat|can not eat|under no circumstances|off limits|danger*|poison*|toxic",
    "avoid|avoids|deadly|lethal|fatal|emergency|emergencies|unsafe",
    "unverträglich*|verträgt kein*|verträgt nicht|zöliakie|herzschrittmacher|nie|niemals|verboten|verbietet",
    "untersagt|darf nicht|darf kein*|dürfen nicht|dürfen kein*|auf keinen fall|keinesfalls|lebensgefahr*",
    "gefährlich*|giftig*|notfall*|meidet|meiden|nussallerg*|erdnussallerg*|pollenallerg*",
    "alergi*|alérgic*|celíac*|asma|marcapasos|nunca|jamás|prohibid*|no debe|no deben|no puede comer|no come",
    "peligr*|venen*|tóxic*|intolerante|evita|evitar",
    "jamais|interdit*|ne doit pas|ne doivent pas|défense de|toxique*|mortel*|dangereu*|urgence*|cœliaque*|éviter",
    "évite|asthmatique*|ne mange pas|il ne faut pas",
    "alérg*|proibid*|não deve|não devem|não pode comer|não come|perig*|celíac*|nunca|jamais",
)
"""Beginnings and words in English, German, Spanish, French and Portuguese. A word too many only shows a line more."""


def is_safety(fact: Fact) -> bool:
    """Return whether a fact tells of a danger to somebody or of a prohibition."""
    return tells_of_danger(fact)


def tells_of_danger(fact: Statement) -> bool:
    """Return whether the words of a fact, predicate included, tell of a danger to somebody or of a prohibition."""
    words = f"{fact.predicate} {fact.content}".replace("_", " ").replace("-", " ")
    return _SAFETY.occur_in(tokens_of(words))
