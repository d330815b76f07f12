"""What is true of every model: time limits, retries, forms, budget, counts. The backend is a script."""

import asyncio

import pytest
from pydantic import BaseModel

from commonplace.core.errors import (
    ModelBudgetError,
    ModelCannotError,
    ModelError,
    ModelOutputError,
    ModelRefusedError,
    ModelTimeoutError,
    ModelUnavailableError,
)
from commonplace.llm import Hang, Ledger, Model, ModelBackend, Reply, Request, Script, Totals, Usage
from commonplace.llm.retries import Retries
from commonplace.llm.scripted import SCRIPTED_USAGE, Step

PURPOSE = "test"


class Decision(BaseModel):
    """The form that is asked for."""

    keep: bool


def paused_model(
    script: Script, pauses: list[float], *, most: int = 4, first_s: float = 0.5, timeout_s: float = 60
) -> Model:
    """Return a model of a script that notes its pauses instead of making them."""

    async def connect() -> ModelBackend:
        return script

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    return Model(
        name="noted",
        connect=connect,
        timeout_s=timeout_s,
        retries=Retries(most=most, first_s=first_s),
        sleep=sleep,
        chance=lambda: 0.0,
    )


async def test_text_comes_back_trimmed_with_what_it_took() -> None:
    """And the backend sees the request whole."""
    script = Script("  A digest.\n")
    completion = await script.model().complete(
        "Digest.", purpose=PURPOSE, system="Be brief.", max_output_tokens=99, max_chars=200
    )
    assert (completion.text, completion.value, completion.usage) == ("A digest.", None, SCRIPTED_USAGE)
    assert not completion.extractive
    assert script.requests == [
        Request(prompt="Digest.", system="Be brief.", output=None, max_output_tokens=99, max_chars=200)
    ]


async def test_an_object_comes_back_validated() -> None:
    """The value is of the type that was asked for."""
    completion = await Script(Decision(keep=True)).model().complete("?", purpose=PURPOSE, output=Decision)
    assert completion.value == Decision(keep=True)


async def test_a_wrong_form_is_asked_for_once_more() -> None:
    """With the answer and its fault; both answers count."""
    script = Script('{"keep": "perhaps"}', '{"keep": false}')
    model = script.model()
    completion = await model.complete("Keep it?", purpose=PURPOSE, output=Decision)
    assert completion.value == Decision(keep=False)
    assert completion.usage == SCRIPTED_USAGE + SCRIPTED_USAGE
    assert model.ledger.totals[PURPOSE].answers == 2
    again = script.requests[1].prompt
    assert again.startswith("Keep it?")
    assert "perhaps" in again
    assert "keep: Input should be a valid boolean" in again


async def test_a_form_that_is_wrong_twice_is_an_error() -> None:
    """No third question; the error says what was missing."""
    script = Script("no", "never", '{"keep": true}')
    model = script.model()
    with pytest.raises(ModelOutputError, match="twice, but not in the form of Decision"):
        await model.complete("?", purpose=PURPOSE, output=Decision)
    assert len(script.requests) == 2
    assert model.ledger.totals[PURPOSE].failures == 1


async def test_an_answer_that_was_cut_off_is_an_error_that_costs() -> None:
    """Half a digest is none, and its tokens are spent all the same."""
    model = Script(Reply(text="Half of a", model="m", usage=Usage(output_tokens=7), cut_off=True)).model()
    with pytest.raises(ModelOutputError, match="max_output_tokens=7"):
        await model.complete("?", purpose=PURPOSE, max_output_tokens=7)
    assert model.ledger.totals[PURPOSE] == Totals(answers=1, output_tokens=7, failures=1)


async def test_pauses_grow_and_a_later_answer_counts() -> None:
    """Unavailable is asked again; nothing is noted as failed."""
    pauses: list[float] = []
    script = Script(ModelUnavailableError("busy"), ModelUnavailableError("busy"), "there")
    model = paused_model(script, pauses)
    assert (await model.complete("?", purpose=PURPOSE)).text == "there"
    assert pauses == [0.5, 1.0]
    assert model.ledger.totals[PURPOSE].unavailable == 2
    assert model.ledger.totals[PURPOSE].failures == 0


async def test_the_server_may_ask_for_a_longer_pause_not_for_a_shorter_one() -> None:
    """``retry_after_s`` is the least."""
    pauses: list[float] = []
    script = Script(
        ModelUnavailableError("busy", retry_after_s=7.5),
        ModelUnavailableError("busy", retry_after_s=0.1),
        "there",
    )
    await paused_model(script, pauses).complete("?", purpose=PURPOSE)
    assert pauses == [7.5, 1.0]


async def test_attempts_are_used_up() -> None:
    """One more than the retries, then the last error stands."""
    script = Script(*(ModelUnavailableError(f"busy {number}") for number in range(5)))
    model = paused_model(script, [], most=2)
    with pytest.raises(ModelUnavailableError, match="busy 2"):
        await model.complete("?", purpose=PURPOSE)
    assert len(script.requests) == 3
    assert model.ledger.totals[PURPOSE].failures == 1


async def test_no_pause_outlasts_the_time_limit() -> None:
    """A server that asks for an hour gets its error passed on at once."""
    pauses: list[float] = []
    script = Script(ModelUnavailableError("come back later", retry_after_s=3600), "too late")
    with pytest.raises(ModelUnavailableError, match="come back later"):
        await paused_model(script, pauses, timeout_s=30).complete("?", purpose=PURPOSE)
    assert pauses == []


async def test_the_time_limit_keeps_the_last_failure() -> None:
    """The address that nobody answers says more than "no answer within 0.6 s"."""
    script = Script(ModelUnavailableError("nobody listens there"), Hang())
    with pytest.raises(ModelUnavailableError, match="nobody listens there"):
        await paused_model(script, [], timeout_s=600).complete("?", purpose=PURPOSE, timeout_s=0.6)


async def test_a_failure_before_an_answer_is_past() -> None:
    """The second question of the call has no answer in time, and nothing else failed since the first answer."""
    script = Script(ModelUnavailableError("busy"), "{}", Hang())
    with pytest.raises(ModelTimeoutError):
        await paused_model(script, [], timeout_s=0.2, first_s=0).complete(
            "?", purpose=PURPOSE, output=Decision
        )


@pytest.mark.parametrize("error", [ModelRefusedError("wrong key"), ModelOutputError("not JSON")])
async def test_what_a_retry_cannot_help_is_not_retried(error: ModelError) -> None:
    """It is raised as it is."""
    script = Script(error, "never asked")
    with pytest.raises(type(error), match=str(error)):
        await script.model().complete("?", purpose=PURPOSE)
    assert len(script.requests) == 1


@pytest.mark.requirement("APP-04.3")
@pytest.mark.parametrize("steps", [(Hang(),), ("{}", Hang())])
async def test_time_is_over_for_the_whole_call(steps: tuple[Step, ...]) -> None:
    """A second question has what the first one left."""
    model = Script(*steps).model()
    with pytest.raises(ModelTimeoutError, match=r"no answer within 0\.05 s"):
        await model.complete("?", purpose=PURPOSE, output=Decision, timeout_s=0.05)
    assert model.ledger.totals[PURPOSE].failures == 1


async def test_a_model_has_a_time_limit_of_its_own() -> None:
    """Calls that name none have that of the settings."""
    with pytest.raises(ModelTimeoutError):
        await Script(Hang()).model(timeout_s=0.05).complete("?", purpose=PURPOSE)


async def test_cancellation_goes_through() -> None:
    """It is not taken for a timeout, and not for a failure of the model."""
    model = Script(Hang()).model()
    task = asyncio.create_task(model.complete("?", purpose=PURPOSE))
    done, _ = await asyncio.wait({task}, timeout=0.05)
    assert not done
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert PURPOSE not in model.ledger.totals


async def test_a_timeout_around_the_call_is_not_its_own() -> None:
    """The caller's own limit keeps its own error."""
    model = Script(Hang()).model()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await model.complete("?", purpose=PURPOSE)
    assert PURPOSE not in model.ledger.totals


async def test_a_spent_budget_asks_nobody() -> None:
    """The call that goes over the limit is the last."""
    script = Script("one", "two")
    model = script.model(ledger=Ledger(daily_tokens=SCRIPTED_USAGE.tokens))
    await model.complete("?", purpose=PURPOSE)
    with pytest.raises(ModelBudgetError):
        await model.complete("?", purpose="other")
    assert len(script.requests) == 1
    assert model.ledger.totals["other"].failures == 1


async def test_a_model_that_picks_sentences_cannot_decide() -> None:
    """It says so before anything is asked; text it can give, and marks it."""
    script = Script("A sentence.")
    model = script.model(extractive=True)
    with pytest.raises(ModelCannotError, match="cannot decide"):
        await model.complete("?", purpose=PURPOSE, output=Decision)
    assert script.requests == []
    assert (await model.complete("?", purpose=PURPOSE)).extractive


async def test_callers_that_come_at_once_connect_once() -> None:
    """And a model that was closed connects anew."""
    connected: list[Script] = []

    async def connect() -> ModelBackend:
        await asyncio.sleep(0)
        connected.append(Script("a", "b", "c"))
        return connected[-1]

    model = Model(name="counted", connect=connect)
    await asyncio.gather(*(model.complete("?", purpose=PURPOSE) for _ in range(3)))
    assert len(connected) == 1
    await model.aclose()
    await model.complete("?", purpose=PURPOSE)
    assert len(connected) == 2


async def test_a_script_can_answer_by_what_it_is_asked_and_ends() -> None:
    """Its end is an error, so that a test that asks too much fails."""
    model = Script(lambda request: request.prompt.upper()).model()
    assert (await model.complete("loud", purpose=PURPOSE)).text == "LOUD"
    with pytest.raises(ModelRefusedError, match="no step left for the prompt: more"):
        await model.complete("more", purpose=PURPOSE)
