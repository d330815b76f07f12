"""The extractive model picks what is worth keeping, and writes nothing."""
# ruff: noqa: RUF001 - punctuation and letters of many scripts

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.llm import Request
from commonplace.llm.extractive import Turn, read_turns, take_notes
from commonplace.llm.extractive_backend import ExtractiveBackend
from commonplace.prompts.fence import fence

speech = st.text(alphabet="abc ABC.,!?;0123456789\n'é息。", max_size=120)
conversations = st.lists(st.tuples(st.sampled_from(["user", "assistant"]), speech), max_size=8)


def notes(*said: str, chars: int = 200) -> str:
    """Return the notes of a conversation that the user begins."""
    roles = ("user", "assistant")
    return take_notes([Turn(role=roles[place % 2], text=text) for place, text in enumerate(said)], chars)


@pytest.mark.requirement("DIG-01.1")
def test_a_long_message_without_punctuation_is_not_dropped() -> None:
    """The health of a child counts more than the courtesy after it."""
    told = notes(
        "hi so next week is the class trip and i wanted to tell you that my son rafi has celiac disease so he "
        "cant have any bread or pasta unless it says gluten free and we will bring his own lunch box and the bus "
        "leaves at 7.45 from the north gate as far as i know",
        "Understood, thanks.",
    )
    assert "celiac" in told
    assert "Understood" not in told


@pytest.mark.requirement("DIG-01.1")
@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("I'm allergic to sesame, what can I put on the salad?", "The user: I'm allergic to sesame."),
        ("What can I put on the salad, I'm allergic to sesame?", "The user: I'm allergic to sesame."),
        ("If I ate sesame, would it matter?", ""),
        ("I was just wondering, do you like salad?", ""),
    ],
)
def test_a_fact_beside_a_question_is_kept(said: str, told: str) -> None:
    """People tell most about themselves while they ask for something."""
    assert notes(said, "Try toasted sunflower seeds.") == told


@pytest.mark.requirement("DIG-01.1")
def test_abbreviations_do_not_end_a_note() -> None:
    """The appointment is there as a whole."""
    told = notes("My appointment with Dr. Sato is at 4 p.m. on 9 March, approx. 30 minutes.")
    assert "Dr. Sato" in told
    assert "9 March" in told
    assert "30 minutes" in told


@pytest.mark.requirement("DIG-01.1")
@pytest.mark.parametrize("said", ["I never fly at night.", "I'll ask the landlord, Mr. Osei, by Friday."])
def test_the_speaker_is_named(said: str) -> None:
    """Who says "I" is the user."""
    assert notes(said) == f"The user: {said}"


@pytest.mark.requirement("DIG-01.1")
@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("I'm allergic to penicillin.", "Noted. I'll mention the penicillin allergy."),
        ("I'm diabetic.", "I've noted that you are diabetic."),
    ],
)
def test_the_health_of_a_user_stays_in_their_words(said: str, answer: str) -> None:
    """An answer that repeats a brief sentence does not take its place."""
    assert notes(said, answer).startswith(f"The user: {said}")


@pytest.mark.requirement("DIG-01.1")
@pytest.mark.parametrize(
    "said",
    [
        "Actually we went back to MySQL for Phoenix.",
        "We rolled back to version 4.2.",
        "Wir sind jetzt doch wieder bei MySQL.",
        "Wir sind für Phoenix zu MySQL zurückgekehrt.",
    ],
)
def test_a_decision_to_go_back_is_kept(said: str) -> None:
    """It replaces an earlier decision."""
    assert notes(said, "OK.").endswith(said.removeprefix("Actually we"))
    assert not notes("I went back to bed.", "OK.")


@pytest.mark.requirement("DIG-01.1")
def test_of_a_corrected_value_the_later_one_stays() -> None:
    """In the words of whoever says it more fully."""
    told = notes(
        "Please book the court for Monday at 18:00.",
        "Done! The court is booked for Monday at 18:00.",
        "sorry, make that tuesday at 19:00",
        "No problem! I've moved the court to Tuesday at 19:00.",
    )
    assert "court to Tuesday at 19:00" in told
    assert "Monday" not in told
    assert "18:00" not in told


@pytest.mark.requirement("DIG-01.1")
@pytest.mark.parametrize(
    ("said", "stays", "goes"),
    [
        pytest.param(
            [
                "book the squash court on the 4th",
                "The squash court is booked for the 4th.",
                "the partner has a wedding, the 5th works",
                "The squash court is moved to the 5th.",
            ],
            "5th",
            "4th",
            id="the answer tells of a change",
        ),
        pytest.param(
            [
                "heat the sauna to 80",
                "The sauna is at 80 °C.",
                "is the gate shut",
                "Yes, the gate is shut.",
                "sorry, 80 is too hot for the kids, always keep the sauna at 65",
                "The sauna stays at 65 °C.",
            ],
            "65",
            "80",
            id="the correction names both values",
        ),
    ],
)
def test_a_correction_is_found_by_its_answer(said: list[str], stays: str, goes: str) -> None:
    """Also where the user's own words do not announce it, or name the old value again."""
    told = notes(*said)
    assert stays in told
    assert goes not in told


@pytest.mark.requirement("DIG-01.1")
def test_what_the_answer_gives_thanks_for_is_kept() -> None:
    """Of two statements without any word that is a signal."""
    pots, tiles, thanks = (
        "The shed is full of clay pots.",
        "The porch is full of roof tiles.",
        "Thank you for telling me.",
    )
    assert notes(pots, thanks, tiles, "I see.", chars=34) == pots
    assert notes(pots, "I see.", tiles, thanks, chars=34) == tiles


@pytest.mark.requirement("DIG-01.1")
@pytest.mark.parametrize("answer", ["Noted.", "Nice!", "Sounds good.", "Shall I set a reminder?"])
@pytest.mark.parametrize(
    "fact",
    [
        "My boss is called Petra.",
        "We moved to Leipzig last month.",
        "I'm learning Portuguese.",
        "I play tennis on Tuesdays.",
        "I've stopped smoking three weeks ago.",
        "Wir sind im März nach Bremen umgezogen.",
        "Estoy aprendiendo japonés por las noches.",
        "J'apprends le violon depuis un an.",
    ],
)
def test_a_lasting_fact_is_kept_whatever_the_answer(fact: str, answer: str) -> None:
    """The answer decides only about what may be of the moment."""
    assert notes(fact, answer)
    assert not notes("I had a sandwich.", answer)
    assert not notes("Play some jazz.", answer)


@pytest.mark.requirement("DIG-01.1")
@pytest.mark.parametrize(
    ("said", "told"),
    [
        pytest.param(
            [
                "Je pars au Japon du 3 au 17 mai, je ne mange pas de porc.",
                "C'est noté, bon voyage !",
                "En fait c'est du 5 au 19 mai.",
                "Corrigé : du 5 au 19 mai.",
            ],
            "The user: Je pars au Japon du 5 au 19 mai, je ne mange pas de porc.",
            id="the answer repeats the correction",
        ),
        pytest.param(
            [
                "I must spend at most 380 on food.",
                "Here is a plan for 380.",
                "no make that 400",
                "All right.",
            ],
            "The user: I must spend at most 400 on food.",
            id="the correction has no other word",
        ),
        pytest.param(
            ["I need 380 for the garden party.", "I see.", "no make that 400", "All right."],
            "The user: I need 400 for the garden party.",
            id="the statement alone was not worth notes",
        ),
    ],
)
def test_a_corrected_value_is_told_once(said: list[str], told: str) -> None:
    """The statement holds the new value, so that neither the correction nor its answer is needed."""
    assert notes(*said) == told


@pytest.mark.requirement("DIG-01.1")
def test_a_number_of_another_matter_replaces_none() -> None:
    """The answer speaks of the goal, but repeats no number of the user's last turn."""
    told = notes(
        "I want to lose 5 kg by June.",
        "Great goal! Here's a plan.",
        "I weigh 82 now.",
        "OK, 77 kg is the target by June.",
    )
    assert "lose 5 kg by June" in told
    assert "weigh 82" in told


@pytest.mark.requirement("DIG-01.1")
def test_a_booking_takes_no_constraint_back() -> None:
    """The days of the constraint are no former value of the booked day."""
    told = notes(
        "I can't do mornings on weekdays, only after 6pm",
        "Then 6:30 pm on Tuesday?",
        "works. make it every Tuesday",
        "Booked every Tuesday at 6:30 pm.",
    )
    assert "can't do mornings on weekdays, only after 6pm" in told


@pytest.mark.requirement("DIG-01.1")
def test_what_holds_is_kept_beside_what_does_not() -> None:
    """They share most of their words."""
    told = notes("I do not prefer window seats, I prefer aisle seats.", "Noted.")
    assert told == "The user: I do not prefer window seats, I prefer aisle seats."


@pytest.mark.requirement("DIG-01.1")
def test_constraints_come_before_restatements_and_courtesies() -> None:
    """Where there is no room for both."""
    told = notes(
        "Could you water the plants on the balcony?",
        "Of course, I will water the plants on the balcony. What a lovely balcony you have!",
        "never water the cactus",
        chars=40,
    )
    assert told == "Never water the cactus."


@pytest.mark.requirement("DIG-01.1")
@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (
            [
                "please transfer 300 to savings every month on the 2nd",
                "Done: 300 on the 2nd.",
                "make it 350",
                "Updated.",
            ],
            "Transfer 350 to savings every month on the 2nd",
        ),
        (
            ["We are 6 people for dinner on Saturday.", "6 people, noted.", "We are 8, not 6.", "8 people."],
            "We are 8 people for dinner on Saturday",
        ),
        (
            [
                "Wir suchen eine Wohnung, höchstens 84 Euro Miete.",
                "Notiert.",
                "Nein, höchstens 95 Euro.",
                "Notiert.",
            ],
            "öchstens 95 Euro Miete",
        ),
        (
            ["Le rendez-vous est le 3 mai.", "Bien.", "Pardon, le rendez-vous est le 5 mai, pas le 3."],
            "est le 5 mai",
        ),
        (
            ["Luna braucht zweimal täglich 5 mg Insulin.", "Gut.", "Die Tierärztin sagt jetzt 6 mg Insulin."],
            "6 mg Insulin",
        ),
    ],
)
def test_a_statement_outlives_its_old_value(said: list[str], kept: str) -> None:
    """A correction alone does not say what it is about."""
    told = notes(*said)
    assert kept in told
    assert not {"300", "5 mg", "84"}.intersection(re.findall(r"5 mg|\d+", told))


@pytest.mark.requirement("DIG-01.1")
def test_a_decision_that_only_the_answer_tells_is_kept() -> None:
    """The user's correction alone cannot be understood."""
    told = notes(
        "what did we decide about the logo?",
        "You chose the blue variant with the serif typeface, and Lena delivers the SVG files by Friday.",
        "right. change that to the green variant please",
        "Changed: green variant, serif typeface, SVG files from Lena by Friday.",
    )
    assert "green variant" in told
    assert "Friday" in told


@pytest.mark.requirement("DIG-01.1")
@pytest.mark.parametrize(
    "said",
    [
        [
            "make the bedroom light blue",
            "Done, the light is blue.",
            "no, red",
            "Changed: the light is red now.",
        ],
        [
            "spiel was von Miles Davis",
            "Ich spiele.",
            "ach nee, lieber was von Coltrane",
            "Jetzt läuft Giant Steps.",
        ],
        [
            "mach das Licht im Bad an",
            "Erledigt.",
            "doch lieber im Flur",
            "Das Licht im Flur ist jetzt an.",
            "danke",
        ],
        ["Hallo, kannst du mir helfen?", "Natürlich, womit?", "hat sich erledigt, danke", "Gern!"],
    ],
)
def test_a_corrected_wish_of_the_moment_is_not_kept(said: list[str]) -> None:
    """A preference for this moment is none."""
    assert notes(*said) == ""


@pytest.mark.requirement("DIG-01.1")
def test_a_hidden_secret_alone_is_not_kept() -> None:
    """What is said beside it is."""
    assert notes("My [hidden: PIN].", "Noted.") == ""
    assert "allergic" in notes("My [hidden: PIN] and I am allergic to nuts.", "Noted.")


@pytest.mark.requirement("DIG-01.1")
@pytest.mark.parametrize(
    "said", ["I have epilepsy.", "Ich habe Asthma.", "My boss comes on Friday. He has a pacemaker."]
)
def test_whose_health_it_is_is_said(said: str) -> None:
    """No pronoun is cut off a user's statement."""
    assert said.rsplit(". ", maxsplit=1)[-1].rstrip(".") in notes(said, "Noted.")


@pytest.mark.requirement("DIG-01.1")
def test_notes_have_the_punctuation_of_their_script() -> None:
    """Full-width signs, and a full stop of the script."""
    told = notes("娘は卵アレルギーです。来週の水曜日に誕生日ケーキを焼きたいです。", "承知しました。")
    assert told == "娘は卵アレルギーです；来週の水曜日に誕生日ケーキを焼きたいです。"


@pytest.mark.requirement("DIG-01.1")
def test_the_whole_conversation_counts() -> None:
    """A sentence in the middle of a very long one."""
    filler = ["The train was late again.", "I see."] * 500
    assert "penicillin" in notes(*filler, "I am allergic to penicillin.", "Noted.", *filler)


@pytest.mark.requirement("DIG-02.1")
@pytest.mark.parametrize(
    "said",
    [
        ["hello", "Hello! How can I help you today?", "thanks, bye"],
        ["turn off the radio", "The radio is off.", "thx"],
        ["how many grams is an ounce", "An ounce is about 28.35 grams.", "ok thanks"],
        ["Wie wird das Wetter morgen?", "Morgen wird es sonnig, 21 Grad.", "danke"],
        ["¿Qué hora es en Lima?", "En Lima son las 9:15.", "gracias"],
        ["traduis bonsoir en anglais", "Bonsoir se dit good evening.", "merci"],
        ["今何時ですか？", "10時です。", "ありがとう"],
        ["ugh, my keys fell behind the sofa", "Oh no! Take your time.", "got them"],
        ["muss gleich ins Bett", "Schlaf gut!", "dir auch"],
        ["por fin es viernes", "¡Sí! ¿Te ayudo con algo?", "no, solo eso"],
        ["", ""],
    ],
)
def test_of_small_talk_and_general_knowledge_nothing_is_kept(said: list[str]) -> None:
    """In each language."""
    assert notes(*said) == ""


@pytest.mark.parametrize(
    ("said", "word"),
    [
        ("Bitte nie vor 11 Uhr anrufen, ich arbeite nachts.", "nie vor 11"),
        ("Mi hija es alérgica al marisco.", "marisco"),
        ("Ma mère est aveugle, tout par téléphone.", "aveugle"),
        ("У сына астма, ингалятор всегда с собой.", "астма"),
        ("我对花生过敏。", "过敏"),
    ],
)
@pytest.mark.requirement("DIG-01.1")
def test_other_languages_are_read(said: str, word: str) -> None:
    """Those with word lists, and others as well as may be."""
    assert word in notes(said)


def test_a_line_of_a_message_is_no_speaker() -> None:
    """Only lines that are not indented begin a turn."""
    turns = read_turns("user: one\n  assistant: two\nassistant: three")
    assert turns == [Turn(role="user", text="one\n  assistant: two\n"), Turn(role="assistant", text="three")]


@pytest.mark.requirement("R-APP-5")
@given(conversations, st.integers(1, 220))
def test_nothing_is_invented(said: list[tuple[str, str]], chars: int) -> None:
    """Every word but the speaker's name is in the conversation, within the length that is asked for."""
    told = take_notes([Turn(role=role, text=text) for role, text in said], chars)
    assert len(told) <= chars
    words = set(re.findall(r"\w+", " ".join(text for _, text in said).casefold()))
    assert set(re.findall(r"\w+", told.removeprefix("The user: ").casefold())) <= words | {"will"}


async def test_instructions_are_never_taken_for_data() -> None:
    """Where a fence is empty there is nothing to say; a prompt without fences is data as a whole."""
    backend = ExtractiveBackend()
    instruction = "Never open the window before noon."
    assert (await backend.send(Request(prompt=f"{instruction}\n{fence('', 'data')}"))).text == ""
    assert (await backend.send(Request(prompt=instruction))).text == instruction


async def test_tokens_bound_the_notes_too() -> None:
    """Four characters a token."""
    prompt = fence("The deadline is on Monday. The database is always on the second host.", "data")
    reply = await ExtractiveBackend().send(Request(prompt=prompt, max_output_tokens=12))
    assert len(reply.text) <= 48
    assert reply.usage.tokens == 0
