"""Words of sentences that decide whether they name a period, in English, German, Spanish, French and Portuguese."""

import re
from typing import Final

from commonplace.language.cues import Cues


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


UNSURE: Final = Cues.of(
    "if|unless|whether|when|wenn|falls|ob|sobald|si|cuando|quand|quando|might|maybe|perhaps|probably|possibly",
    "vielleicht|wahrscheinlich|möglicherweise|vermutlich|quizás?|tal vez|talvez|peut être|probablement",
    "provavelmente|wants?|wanted|wish|wishes|hopes?|plans?|planned|would|could|should|möchten?|quiere|veut",
    "quer|hofft|espère|will bis|will ab|will seit|once the|as soon as|knows?|weiß|sait|sabe|nachdem|dès que",
    "lorsque|une fois que|una vez|en cuanto|assim que|logo que",
)
"""Words of a question, a condition, a guess or a wish."""

_FILES: Final = (
    *("file", "files", "log", "logs", "list", "table", "report", "changelog", "page", "archive", "document"),
    *(
        "datei",
        "liste",
        "bericht",
        "tabelle",
        "archiv",
        "fichier",
        "archivo",
        "informe",
        "arquivo",
        "relatório",
    ),
)
CONTENT: Final = Cues.of(
    "lists|contains?|shows|tracks?|tracking|records|reicht|umfasst|enthält|zeigt|contiene|muestra",
    "contient|contém|mostra",
    *(f"{noun} {verb}" for noun in _FILES for verb in ("cover", "covers", "hold", "holds")),
)
"""Words of a sentence about the content of something."""

DEADLINE: Final = Cues.of(
    "needs until|need until|will take|take until|countdown|sign up|brauchen noch|braucht noch|brauchen bis",
    "braucht bis|il faut|nous faut|necesitamos|necesita hasta|necesitan hasta|faltan|quedan|prendra|tardará",
    "due|deadline|submit*|register|apply|confirm|pay|fällig|frist|geplant|angekündigt|abgabe*|abgegeben",
    "takes until|takes till|dauert bis|prend jusqu|tarda hasta|registration is open|registration closes",
    "registrations|comments?|feedback|votes?|call for papers|survey|rsvp|accept*|applications?|objections?",
    "bewerbungen|candidatur*|solicitudes|inscripciones|inscrições|to object|have until|has until|a jusqu à",
    "ont jusqu|tiene hasta|tienen hasta|tem até|têm até|abgeben|einreichen|einzureichen|eingereicht|erledig*",
    "fertig*|zahl*|bezahl*|anmeld*|bestätig*|melden|entregar|plazo|vence|pagar|inscri*|rendre|rendue?s?",
    "échéance|délai|payer|soll*|muss|müssen|debe*|doit|doivent|must|prazo|entregue|devem?|tem de|têm de",
    "needs? to|please|bitte|veuillez|merci de|por favor|has to|have to submit|have to send|have to hand",
    "have to finish|have to deliver|hat zeit|tiene que|tienen que|remettre|renvoyer|envoyer|schicken|senden",
    "enviar",
)
"""Words of a sentence about a task, which has a last day but does not hold until then."""

COLLECTION: Final = Cues.of(
    "changes|releases|versions|commits|data|logs?|events|messages|entries|records|reports?|backups?",
    "files|orders|tickets|results|invoices|issues|änderungen|daten|einträge|berichte?|rechnungen",
    "cambios|datos|registros|informes?|modifications|données|rapports?|changements|milliseconds|seconds",
    "placed|passées|hechos|eingegangen|bestellungen|commandes|pedidos|encomendas",
    "minutes|hours|days|millisekunden|sekunden|minuten|stunden|tage|segundos|minutos|días|secondes",
    "jours|cases|expenses?|sales|alterações|dados|relatórios?|faturas",
)
"""Nouns to which a phrase after them belongs."""

PAST: Final = Cues.of(
    "gab|gaben|gingen|brach|trat|fiel|tuvimos|tuvieron|avons eu|ont eu|tivemos",
    "was|were|had|did|went|came|left|got|began|became|took|gave|met|sent|bought|sold|broke|built|paid|made",
    "said|ran|fell|lost|joined|started|ended|moved|visited|signed|opened|launched|happened|arrived|returned",
    "replaced|changed|war|waren|hatten?|hatte|wurden?|wurde|kam|kamen|ging|begann|worden|gewesen|geboren|fue",
    "fueron|estaba|estuvo|era|hubo|tuvo|vino|nació|cambió|empezó|terminó|llegó|ha sido|était|étaient|avait",
    "avaient|a été|ont été|est née?|a eu|est arrivée?|foi|foram|estava|esteve|houve|teve|veio|nasceu|mudou",
    "começou|terminou|chegou|last|letzte[nmrs]?|vergangene[nmrs]?|learned|learnt|called|decided|agreed",
    "discussed|discovered|fixed|heard|talked|deployed|released|shipped|migrated|posted|ago|founded|married",
    "gegründet|fundado|fundada|fondée?",
)
"""Words of a sentence about the past."""

NOW: Final = Cues.of(
    "from now|von jetzt|as of now|starting now|with immediate effect|ab sofort|ab jetzt|von jetzt an",
    "dès maintenant|à partir de maintenant|dès à présent|desde ahora|a partir de ahora|desde ya",
    "a partir de agora|desde já",
)
"""Words that begin a period today."""

_LIVED: Final = (
    r"lived|worked|studied|taught|served|led|owned|rented|attended|wohnte|lebte|arbeitete|studierte|leitete|vivió|trabajó"
    r"|estudió|vivait|habitait|travaillait|vécu|travaillé|étudié|viveu|morou|trabalhou|estudou"
)
LIVED: Final = _compiled(rf"\b(?:{_LIVED})\b(?!\s(?:from|von|de|desde)\b)")
"""Verbs of a sentence about the past in which "from 2010 to 2015" means years: a port may change from 2010 to 2015."""

LASTED: Final = _compiled(
    rf"\b(?:{_LIVED}|was|were|(?<!\bthe\s)war|waren|fue|était|foi)\b(?!\s(?:from|von|de|desde)\b)"
)
"""The same, with verbs that are clear only beside a year: "was on leave from 2 to 9 March" is an event on record."""

ABSENT: Final = Cues.of(
    "will|won t|sera|seront|será|serán|estará|estarán|serão|estarão|va a|vai|vão|away",
    "absent|leave|holidays?|vacation|travell?ing|abroad|sick|ill|fehlt|verreist|urlaub|ferien|krank",
    "auf reisen|abwesend|congé|vacances|absente?|malade|vacaciones|viaje|ausente|baja|trip|dienstreise",
    "geschäftsreise|voyage|déplacement|férias|viagem|doente|next week",
)
"""Words of a sentence in which "from Monday to Wednesday" means those of one week, not opening hours."""

OPEN: Final = Cues.of(
    "available|staffed|support|hotline|reachable|only|nur|erreichbar|besetzt|disponible|joignable",
    "open|opens|hours|offen|geöffnet|öffnet|öffnungszeiten|sprechzeiten|ouverte?s?|ouvre|horaires?",
    "abierto|abierta|abre|horario|aberto|aberta|horário|service hours|office hours",
)
"""Words of a sentence about opening hours."""

ABSENCE: Final = re.compile(
    r"\b(?:is|are|ist|sind|est|sont|está|están|estão)\s(?:\S+\s){0,5}?(?:away|absent|on\scall|on\sduty|leave|holidays?|vacation|travell?ing|abroad"
    r"|sick|closed|out|down|offline|blocked|unavailable|frozen|verreist|urlaub|ferien|krank|geschlossen|gesperrt|abwesend|congé"
    r"|vacances|absente?s?|malade|fermée?s?|vacaciones|viaje|ausentes?|baja|cerrad[oa]s?|férias|doente|fechad[oa]s?|fora|unterwegs"
    r"|elternzeit|mutterschutz|dienstreise|krankgeschrieben|außer\sbetrieb|déplacement|en\spanne)\b",
    re.IGNORECASE,
)
"""Words of a sentence in which "for three weeks" counts from now, and is no term of a guarantee or a process."""

EVENT: Final = Cues.of(
    "not close|will close",
    "meeting|appointment|birthday|anniversary|born|wedding|party|exam|interview|audit|termin|sitzung",
    "besprechung|geburtstag|prüfung|hochzeit|réunion|rendez vous|anniversaire|examen|reunión|cita|cumpleaños",
    "boda|reunião|consulta|aniversário|exame|likes? to say|says|deadline|ships?|launch|launches|kick off",
    "kickoff|go live|starts?|begins?|ends?|finish|finishes|arrives?|delivery|deliver*|comes?|release",
    "talk|talks|discuss|discusses|meet|meets|sends?|decides?|reviews?|visits?|vote|follow up|calls|presents?",
    "publishes|besprechen|bespricht|sprechen|treffen|trifft|entscheid*|sortie|parl*|discut*|rencontr*|décid*",
    "habla*|reúne*|envía*|decid*|visita|visitan|vota*|falamos|fala|encontr*|wahl|abstimmung|beginnt?|beginnen",
    "startet?|endet|liefer*|kommt|kommen|ankunft|commence*|débute*|arrive*|livr*|empiez*|comienz*|termina",
    "llega*|entreg*|começa*|inicia|chega*|flug|vuelo|vol|flight|train|zug|tren|conference|konferenz",
)
"""Words of a sentence about an event, which stays true when its day is over."""

NO_EVENT: Final = _compiled(
    r"\b(?:no|keine?n?|pas\sde|aucune?|no\shay|sin|sem|não\shá)\s(?:\w+\s)?(?:meetings?|sync|interviews?|exams?|deliver\w*"
    r"|appointments?|besprechung\w*|sitzung\w*|termine?|prüfung\w*|liefer\w*|réunions?|rendez-vous|examens?|livraisons?"
    r"|reuni[óoõã]\w+|citas?|ex[áa]men\w*|entregas?)\b"
)
"""Words of a sentence about an event that does not take place, which is a state."""

HINDRANCE: Final = Cues.of(
    "closed|shut|reserved|is out|are out|out of|away|absent|is off|are off|day off|unavailable|blocked",
    "is down|are down|offline|unreachable|frozen|no|not|nobody|none|only|all day|on leave",
    "parental leave|sick leave|on holidays?|on vacation|replaces?|covers|reserviert|geschlossen",
    "gesperrt|abwesend|fehlt|kein*|niemand|nur|ganztags|nicht|urlaub|ferien|übernimmt|vertritt",
    "réservée?s?|fermée?s?|absente?s?|indisponible|aucune?|seulement|personne|ne|n|pas|congé|vacances",
    "remplace|reservado|reservada|cerrada?s?|cerrado|cerrados|ausente|nadie|ningún|ninguna|sólo|solo",
    "vacaciones|sustituye|fechado|fechada|fechados|ninguém|só|apenas|não|férias|substitui",
)
"""Words of a sentence about what holds all day, and not about something that happens on that day."""

STATE: Final = Cues.of(
    "will|wird|werden|sera|seront|será|serán|estará|estarán|serão|estarão|habrá|haverá|bleibt|bleiben|reste",
    "restent|queda|quedan|fica|ficam",
)
"""Words of a sentence about a state or the future, in which "in May" is a period."""

ALWAYS: Final = Cues.of(
    "always|usually|normally|typically|generally|often|annually|yearly|immer|meist*|normalerweise",
    "jährlich|jeweils|gewöhnlich|toujours|généralement|habituellement|d habitude|siempre|normalmente",
    "suele*|sempre|geralmente|costuma*",
)
"""Words of a sentence about what returns."""

DENIED: Final = _compiled(
    r"\b(?:not|never|no\slonger|nicht|nie|nunca|pas|não|no(?=\s\w+[ae]n?\b(?!.*\baté\b)))\b|n['\u2019]t\b|\bn['\u2019]|\bne\b"
)

_HEARSAY: Final = Cues.of(
    "not true|isn t true|untrue|nicht wahr|stimmt nicht|falsch|pas vrai|faux|no es verdad|no es cierto|falso",
    "não é verdade|sei|seien|meinte|meinten|serait|seraient|aurait|auraient|says|said|told|claims?|claimed",
    "thinks?|thought|believes?|heard|doubts?|apparently|supposedly|allegedly|reportedly|rumou?rs?|according",
    "sagte?|behauptet|glaubt|glaube|meint|denkt|bezweif*|angeblich|offenbar|anscheinend|gerücht*|dass|laut",
    "a dit|dit que|croit|crois|pense|doute*|il paraît|apparemment|selon|d après|rumeurs?|dice|dijo|cree|creo",
    "piensa|dudo|duda|al parecer|parece|según|rumores|diz|disse|acha|acho|acredita|duvido|duvida|pelos vistos",
    "de acordo com",
)
"""Words of a sentence about what somebody says or believes."""

_PERHAPS: Final = Cues.of(
    "may be|may extend|may last|may have|may get|may become|may change|may slip|may take|may move|may need",
    "can be extended|expects?|expected|assumes?|likely|unlikely|tentative*|provisional*|könnten?|dürften?",
    "eventuell|evtl|voraussichtlich|pourrai*|devrai*|voudr*|aimerai*|peut être|podría*|quisiera|gustaría",
    "debería*|poderia*|gostaria|deveria*|deverá",
)
"""Words of a guess or a wish in other moods than :data:`UNSURE`."""

_ROUGHLY: Final = Cues.of(
    "at least|at most|at the latest|at the earliest|no longer than|approximately|approx|roughly|mindestens",
    "spätestens|frühestens|höchstens|ungefähr|circa|ca|etwa|au moins|au plus tard|au plus tôt|environ",
    "al menos|como mínimo|como máximo|a más tardar|aproximadamente|pelo menos|no máximo|o mais tardar|either",
)
"""Words that make an end uncertain."""

_PROPOSED: Final = Cues.of(
    "propos*|suggest*|oppose*|wonder*|promis*|discussion|propon*|sense|mistake|to extend|asked|asks",
    "vorgeschlagen|schlägt|schlagen|vorschlag*|diskussion|verspr*|promet*|suger*|propuest*|discusión",
    "discussão",
)
"""Words of a sentence about what is only talked about."""

_VOID: Final = Cues.of(
    "cancel*|reject*|refus*|denied|declin*|postpone*|rescheduled|withdrawn|called off|moved from|changed from",
    "shifted from|extended from|grew from|rose from|fell from|abgesagt|abgelehnt|gestrichen|verschoben",
    "storniert|entfällt|vertagt|annul*|reporté*|repouss*|déplacée?s?|suprim*|aplaz*|pospuest*|rechaz*|adiad*",
    "rejeitad*|request for|requests for|request from|requested|asks? for|asked for|applied for|antrag",
    "beantragt*|urlaubsantrag|demande de|a demandé|demande des|solicit*|pidió|pide|pediu|pedido",
)
"""Words of a sentence in which a period is only asked for, or does not come."""

_HAPPENED: Final = Cues.of(
    "night from|night of|nacht vom|nuit du|noche del|noite de",
    "took place|was held|were held|lasted|fand|fanden|dauerten?|a eu lieu|ont eu lieu|a duré|ont duré|duró",
    "duraron|se celebró|se celebraron|durou|duraram|realizou se|aconteceu|tuvo lugar|teve lugar",
)
"""Words of a sentence about an event on record."""

_NAMED: Final = Cues.of(
    "called|named|titled|entitled|heißt|heisst|nennt|s appelle|se llama|chama se|slogan|motto|song|novel",
    "brand|lied|marke",
)
"""Words of a sentence about a name, which may look like a phrase."""

_COMPARED: Final = Cues.of(
    "vs|versus|compare*|matches|filters?|query|queries|regex|range|fixture|example|statistics|dashboard",
    "umsätze|statistik|couvre*|abarca*|cobre|abrange|deckt|covers january|covers february|covers march|filtr*",
    "beispiel|ejemplo|exemple|exemplo|doubled|verdoppelt|doublé|duplicaron",
)
"""Words of a sentence about data of some days."""

RETURNING: Final = Cues.of(
    "every year|each year|all year|every winter|every summer|fiscal year|financial year|school year",
    "academic year|geschäftsjahr|wirtschaftsjahr|schuljahr|jedes jahr|alljährlich|alle jahre|exercice",
    "année scolaire|chaque année|tous les ans|ejercicio|ejercicio fiscal|año fiscal|curso escolar|cada año",
    "todos los años|ano letivo|ano fiscal|todos os anos|cada ano|el curso",
)
"""Words of a sentence about what returns each year; they decide where no year is named."""

_ABSENT_WORD: Final = (
    r"(?:closed|shut|away|absent|off|out|(?:on\s)?(?:\w+\s)?leave|on\s(?:vacation|holidays?)|travell?ing|sick|blocked|locked"
    r"|frozen|down|offline|geschlossen|gesperrt|zu|weg|abwesend|verreist|krank|(?:im\s|in\s)?(?:urlaub|ferien|elternzeit)"
    r"|fermée?s?|absente?s?|(?:en\s)?(?:congés?|vacances)|malade|bloquée?s?|cerrad[oa]s?|ausentes?|(?:de\s)?(?:vacaciones"
    r"|baja)|fuera|de\sviaje|bloquead[oa]s?|fechad[oa]s?|(?:de\s)?férias|doente|fora)"
)
_NEGATED: Final = _compiled(
    rf"(?:\b(?:not|no\slonger|nicht(?:\smehr)?|pas|plus|(?:no|não)\s(?:est[áã]\w*|es|é))|n['\u2019]t)\s(?:\w+\s)?{_ABSENT_WORD}\b"
    r"|\b(?:no|keine?n?|aucun|pas\sde|sin|sem)\s(?:\w+\s)?(?:freeze|closure|sperre|stopp?|gel|congelación|congelamento)\b"
)
"""Words of a sentence that denies a hindrance, so that its days are not those on which it holds."""

_REQUEST: Final = _compiled(
    r"^(?:(?:please|pls|bitte|s['\u2019]il\svous\splaît|por\sfavor),?\s)?(?:(?:don['\u2019]t\s)?(?:book|order|reserve|search|find|remind"
    r"|schedule|ask|buy|compare|check|review|call|visit|meet|deliver|cancel|follow|talk|send|tell|bring)|buchen?|bestelle?n?|reserviere?n?|suche?n?"
    r"|erinnere|kaufe?|prüfe?n?|réserve[rz]?|commande[rz]?|cherche[rz]?|rappelle|achète|reserva[r]?|reserve|busca[r]?|compra[r]?"
    r"|pide|recuérdale|encomenda|lembra|marca|procura)\s"
)
"""The first words of a sentence that asks for something to be done once."""

_STAMP: Final = _compiled(
    r"\b(?:are|is|were|was|data|figures?|numbers?|prices?|balance|counts?|status)\sas\sof\s"
)
"""Words of a sentence that says from when its data are."""

_RECORDS: Final = _compiled(
    r"^(?:(?:the|our|all|der|die|das|le|la|les|el|los|las|o|a|os|as)\s|l['\u2019])?(?:\w+\s)?(?:reports?|logs?|minutes|statistics"
    r"|archives?|exports?|manuals?|photos?|letters?|invoices?|receipts?|bills?|protocols?|bericht|protokoll|logs|anleitung|fotos?"
    r"|rechnung(?:en)?|quittung(?:en)?|rapports?|journaux|comptes?[\s-]rendus?|factures?|reçus?|photos?|informes?|actas?|registros"
    r"|facturas?|recibos?|relatórios?|atas?|faturas?)\s(?!(?:server|tool|service)\b)"
)
"""The first words of a sentence about a record, whose days are those of its content or its date."""

DOUBTS: Final = (
    _HEARSAY,
    _ROUGHLY,
    _PROPOSED,
    _PERHAPS,
    _VOID,
    _HAPPENED,
    _NAMED,
    _COMPARED,
    _NEGATED,
    _REQUEST,
    _STAMP,
    _RECORDS,
    UNSURE,
)
"""A sentence with any of these names no period."""

CLOCK: Final = _compiled(
    r"\b(?:at|um|à|a\slas?|às?|@)\s\d{1,2}(?!\d)(?:[:.]\d\d)?(?=\s?(?:h|uhr|am|pm|$|[,.;]))"
    r"|\b(?:from|between|von|zwischen|de|entre)\s\d{1,2}(?:[:.]\d\d)?\s?h?\s(?:to|and|bis|und|à|et|a|y|e)\s\d{1,2}"
)
"""A time, with which something happens on a day."""
