"""The verdicts of the judge: same, refine, correct, distinct, or doubtful."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.judge import Verdict, joined, judge
from commonplace.judge.opposites import are_opposites
from commonplace.judge.verdicts import between, decided

TEXTS = (
    "Takes 60s to start after restart",
    "Must be started after WireGuard",
    "restic prune has to run once a month",
    "The memory leak after reloads is fixed, but only on x86-64",
    "Der Dienst braucht kein Redis mehr",
    "キャッシュは Redis で、ポートは 6379",
    "Never deploy on Fridays, except hotfixes",
)
KEPT_APART = {Verdict.DISTINCT, Verdict.DOUBTFUL}

texts = st.sampled_from(TEXTS)


@pytest.mark.requirement("OPS-09.1", "OPS-10.1", "R-OPS-5")
@pytest.mark.parametrize(
    ("existing", "emitted", "verdict"),
    [
        ("Takes 60s to start after restart", "Takes about 60 seconds to start after a restart", Verdict.SAME),
        ("Takes 60s to start", "Takes 60s to start", Verdict.SAME),
        ("Must be started after WireGuard", "Can be started independently of WireGuard", Verdict.CORRECT),
        ("Takes 60s to start", "Takes 90s to start", Verdict.CORRECT),
        ("Must be restarted weekly", "Can be restarted weekly", Verdict.CORRECT),
        ("Wait 10s after boot before probing", "After boot, wait 10s before probing", Verdict.SAME),
        ("Start Redis before Gitea", "Start Gitea after Redis", Verdict.SAME),
        ("Start Redis before Gitea", "Start Gitea before Redis", Verdict.CORRECT),
        ("Query logging is on", "Query logging is off", Verdict.CORRECT),
        ("Takes 60s to start", "Sometimes crashes on first start", Verdict.DISTINCT),
        ("Must be started after WireGuard", "Must be started after Postgres", Verdict.DISTINCT),
    ],
)
def test_judges_the_cases_of_the_specification(existing: str, emitted: str, verdict: Verdict) -> None:
    """The scenarios of the specification, and their nearest neighbours."""
    assert judge.compare(existing, emitted).verdict is verdict


@pytest.mark.requirement("JDG-02.1")
@pytest.mark.parametrize(
    ("existing", "emitted"),
    [
        ("Depends on the LDAP server", "The dependency on the LDAP server was removed"),
        ("Crashes on malformed JWTs", "The crash on malformed JWTs was fixed by 10.9"),
        ("The importer leaks memory", "The memory leak of the importer is gone"),
        ("Certificates are renewed by certbot", "Certificate renewal moved from certbot to caddy"),
        ("Offsite copies are made with duplicity", "duplicity was replaced by restic for the offsite copies"),
        ("Share is called transfer", "Share transfer was renamed to exchange"),
        ("Host kyoto runs the build VMs", "Host kyoto has been retired, the build VMs are on nara"),
        ("Runs postgres 13", "Postgres was upgraded to 15"),
        ("Log driver was changed to journald", "The change of the log driver to journald was rolled back"),
        ("The modem is offline", "The modem is back online"),
        ("Needs rpcbind", "rpcbind is no longer needed"),
        ("The primary is db-a", "The primary is db-b"),
        ("Mail is accepted from 10.0.0.2", "Mail is rejected from 10.0.0.2"),
        (
            "Containers lose DNS after a network restart",
            "The DNS loss of containers after a network restart is fixed",
        ),
        ("Leaks memory after every reload", "The memory leak after reloads is fixed"),
        ("Queue bug blocks workers", "The queue bug that blocks workers is gone"),
        (
            "Nginx rate limit blocks the uptime probe",
            "The nginx rate limit which blocks the uptime probe was lifted",
        ),
        ("Job A must run before job B", "Job B must run before job A"),
        ("Der Dienst braucht Redis", "Der Dienst braucht kein Redis mehr"),
        ("Runs version 2.3", "Was upgraded to 2.4"),
        ("Keeps backups for 30 days", "Was reduced to 14 days"),
    ],
)
def test_a_state_change_or_another_value_corrects(existing: str, emitted: str) -> None:
    """Removed, gone, fixed, moved, replaced, renamed, retired, upgraded, rolled back, back again."""
    assert judge.compare(existing, emitted).verdict is Verdict.CORRECT


@pytest.mark.requirement("JDG-01.1")
@pytest.mark.parametrize(
    ("existing", "emitted", "certain"),
    [
        ("Automatic updates are on", "Automatic updates are off since 5.1 broke the login", True),
        ("Automatic updates are off since 5.1 broke the login", "Automatic updates are on again", True),
        ("Notifications are enabled", "Notifications are disabled because of noise", True),
        ("Die Heizung ist aus", "Die Heizung ist an, weil es friert", True),
        ("The heating is on", "The heating is off until Monday", False),
        ("The heating is on", "The heating is on since Monday", False),
        ("It is on", "It is on the shelf, off the floor", False),
        ("Keep it open", "Keep the shop closed", False),
    ],
)
def test_the_opposite_in_the_same_words_corrects(existing: str, emitted: str, *, certain: bool) -> None:
    """Whatever reason follows; what holds for a while, or elsewhere, is left to the network."""
    assert are_opposites(existing, emitted) is certain
    if certain:
        assert judge.compare(existing, emitted).verdict is Verdict.CORRECT


@pytest.mark.requirement("JDG-01.1")
@pytest.mark.parametrize(
    ("existing", "emitted"),
    [
        (
            "Restart the container when the queue is stuck",
            "Restart the container when the queue is stuck, but never while a backup is running",
        ),
        ("Polls switch-a1", "Polls switch-a1 and, since the rack move, switch-a2"),
        ("Every job needs the vault", "Every job needs the vault except the cleanup"),
        ("Push is delayed", "Push is delayed for some 4 minutes"),
        ("Reload is safe", "Reload is safe if no client is connected"),
    ],
)
def test_an_added_detail_refines(existing: str, emitted: str) -> None:
    """A condition, an exception, a value or a second item conflicts with nothing."""
    assert judge.compare(existing, emitted).verdict is Verdict.REFINE


@pytest.mark.requirement("JDG-03.1")
@pytest.mark.parametrize(
    ("existing", "emitted"),
    [
        ("Camera 1 drops frames at night", "Camera 2 drops frames at night"),
        ("Error 502 means that the upstream is down", "Error 504 means that the upstream is slow"),
        ("Exit code 1 is a warning", "Exit code 2 is a failure"),
        ("worker-1 runs out of disk", "worker-2 runs out of disk"),
        ("Replica 1 lags after backups", "Replica 2 lags after backups"),
        ("Rule 5 blocks SMTP", "Rule 6 blocks SMTP"),
        ("Job 12 needs the VPN", "Job 14 needs the VPN"),
        ("UPS A lasts 22 min", "UPS B lasts 9 min"),
        ("If the agent hangs, restart the broker", "If the broker hangs, restart the agent"),
        ("Upload takes 3 h", "Download takes 40 min"),
        ("GET requests are cached", "POST requests are not cached"),
        ("Small files are cached on the SSD", "Large files are cached on the SSD"),
    ],
)
def test_what_tells_two_things_apart_keeps_them_apart(existing: str, emitted: str) -> None:
    """Numbers, letters and names that identify are no values."""
    assert judge.compare(existing, emitted).verdict in KEPT_APART


@pytest.mark.requirement("JDG-03.1")
@pytest.mark.parametrize(
    ("existing", "emitted"),
    [
        ("pg_repack on db-b runs on Friday", "pg_repack on db-a was moved to Saturday"),
        ("restic check takes 3 h", "The restic prune has to run once a month"),
        ("502 from backend-b is not normal during deploys", "502 from backend-a is normal during deploys"),
        ("Returns 502 if backend-a is down", "Returns 502 if backend-b is down"),
        ("Root token of account prod is in the safe", "Root token of account sandbox is with Jonas"),
        ("db-dump.sh sends mail on failure", "db-purge.sh stays silent even when it fails"),
        ("Queue high is drained by 8 workers", "Queue low is drained by 2 workers"),
        ("Internal zone is served by ns1", "External zone is served by cloudflare"),
    ],
)
def test_claims_about_two_subjects_correct_nothing(existing: str, emitted: str) -> None:
    """A part of one subject stands where the other subject has another part: no doubt, even if a change is stated."""
    assert judge.compare(existing, emitted).verdict is Verdict.DISTINCT


@pytest.mark.requirement("JDG-02.1")
@pytest.mark.parametrize(
    ("existing", "emitted"),
    [
        ("pg_repack on db-a runs on Friday", "pg_repack on db-a was moved to Saturday"),
        ("The exporter runs on db-a", "The exporter runs on db-b now"),
        ("The exporter runs on db-a", "The exporter was moved from db-a to db-b"),
        ("restic prune has to run once a month", "restic prune has to run once a week"),
        ("db-a is the primary", "db-b has been the primary since the failover"),
        ("Keep 3 snapshots", "Keep 5 snapshots"),
    ],
)
def test_another_value_of_one_subject_corrects(existing: str, emitted: str) -> None:
    """A name behind the verb, or the one thing that is "the primary", is a value and no subject."""
    assert judge.compare(existing, emitted).verdict is Verdict.CORRECT


@pytest.mark.requirement("OPS-10.1", "R-OPS-5")
@pytest.mark.parametrize(
    ("existing", "emitted"),
    [
        ("The first sync takes 6 hours", "Later syncs take 2 minutes"),
        (
            "Door sensor sends duplicates",
            "Door sensor sends duplicates since the firmware was upgraded to 2.1",
        ),
        (
            "Replication lag grows under load",
            "Replication lag grows to 40 s under load and is gone after 10 minutes",
        ),
    ],
)
def test_a_part_a_reason_or_a_passing_change_corrects_nothing(existing: str, emitted: str) -> None:
    """A correction needs the same subject, and a change that the claim itself states and that lasts."""
    assert judge.compare(existing, emitted).verdict is not Verdict.CORRECT


@pytest.mark.requirement("OPS-09.1", "R-OPS-5")
@pytest.mark.parametrize(
    ("existing", "emitted"),
    [
        ("The ticket printer in the lobby was repaired", "The ticket printer in the lobby is out of order"),
        ("The dependency on the LDAP server was removed", "Depends on the LDAP server"),
        ("wal-g backups go to bucket pg-wal", "wal-g backups go to bucket pg-archive"),
        (
            "The search index is corrupt after a crash",
            "The corruption of the search index after a crash is gone",
        ),
        ("Playback stutters on 4K files", "Playback of 4K files stutters: solved by hardware transcoding"),
        ("Certbot erneuert die Zertifikate", "Certbot erneuert die Zertifikate nicht mehr, sondern caddy"),
        ("Wartungsfenster dienstags von 20 bis 22 Uhr", "Wartungsfenster donnerstags von 20 bis 22 Uhr"),
        ("Backup startet täglich um Mitternacht", "Backup startet täglich um 12 Uhr mittags"),
    ],
)
def test_a_claim_that_returns_or_another_value_reinforces_nothing(existing: str, emitted: str) -> None:
    """The old memory states a change or another value, so that the new text is no repetition."""
    assert judge.compare(existing, emitted).verdict not in {Verdict.SAME, Verdict.REFINE}


@pytest.mark.requirement("R-OPS-5")
@pytest.mark.parametrize(
    ("existing", "emitted"),
    [
        ("Returns 302, not 200", "Returns a 302, not a 200"),
        ("Certificates are valid for 12 months", "Certificates are valid for a year"),
        ("The tank is cleaned twice a year", "The tank is cleaned every six months"),
        ("Jobs do not run unless the agent is loaded", "Jobs only run with the agent loaded"),
        ("The export is not writable", "The export is read-only"),
        ("A reboot is not unnecessary", "A reboot is necessary"),
        ("Half of the pool is used", "50% of the pool is used"),
        ("Runs three quarters of an hour", "Runs 45 minutes"),
        ("Reports go out Mon 06:00", "Reports go out Monday 6 a.m."),
        ("The gate opens at half past six", "The gate opens at 6:30"),
        ("Domain controllers hand out the wifi keys", "DCs hand out the Wi-Fi keys"),
    ],
)
def test_other_words_for_the_same_are_the_same(existing: str, emitted: str) -> None:
    """Units, periods, fractions and double negation are read, not compared as they stand."""
    assert judge.compare(existing, emitted).verdict is Verdict.SAME


@pytest.mark.requirement("OPS-10.1", "R-OPS-5")
def test_another_time_in_words_is_another_time() -> None:
    """Half past six is not six."""
    assert (
        judge.compare("The gate opens at half past six", "The gate opens at six").verdict is Verdict.CORRECT
    )


@pytest.mark.requirement("JDG-01.1")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Takes about 40s to start, up to 3 min after an unclean shutdown", "Takes about 90s to start"),
        ("rejects bodies over 8 MB except on /upload, which allows 200 MB", "rejects bodies over 20 MB"),
        (
            "Backup takes 40 minutes, on Sundays 2 hours, unless compression is switched off",
            "Backup takes 50 minutes",
        ),
        (
            "API is at 127.0.0.1:11434, unless a backup is running, because the disks are shared",
            "API is at 127.0.0.1:21434",
        ),
        (
            "Jail postfix-sasl bans after 3 attempts, but only while the VPN is up",
            "Jail postfix-sasl no longer bans after 3 attempts",
        ),
    ],
)
def test_a_long_memory_does_not_swallow_its_correction(old: str, new: str) -> None:
    """However much of the old text is left: another value or a denial is never the same."""
    judgement = judge.compare(old, new)
    assert judgement.verdict in {Verdict.CORRECT, Verdict.DOUBTFUL}


@pytest.mark.requirement("R-OPS-5")
def test_the_name_of_the_service_makes_no_difference() -> None:
    """A text may name the service that it is filed under."""
    existing, emitted = "maxmemory is 4096 MB", "Redis maxmemory is 4 GB"
    assert judge.compare(existing, emitted, "redis").verdict is Verdict.SAME


@pytest.mark.requirement("JDG-01.1", "R-OPS-5")
def test_a_joined_text_is_compared_statement_by_statement() -> None:
    """A memory that holds two wordings knows each of them, and can be corrected in either."""
    text = joined("Restart fixes it", "Restart fixes it when the queue is stuck")
    assert text == "Restart fixes it when the queue is stuck"
    both = joined("Logs are kept 30 days", "The audit log is never deleted")
    assert both == "Logs are kept 30 days; The audit log is never deleted"
    assert judge.compare(both, "The audit log is never deleted").verdict is Verdict.SAME
    assert judge.compare(both, "Logs are kept 60 days").verdict is Verdict.CORRECT


@pytest.mark.requirement("JDG-01.1")
def test_a_text_of_more_than_300_characters_is_not_joined() -> None:
    """The old and the new wording stay two memories then."""
    assert joined("a " * 100, "b " * 100) is None


@pytest.mark.requirement("JDG-05.1", "JDG-06.2")
@pytest.mark.parametrize(
    ("chances", "verdict", "others"),
    [
        ((0.0, 0.0, 1.0, 0.0), Verdict.CORRECT, ()),
        ((0.02, 0.01, 0.87, 0.1), Verdict.CORRECT, (Verdict.CORRECT, Verdict.DISTINCT)),
        ((0.2, 0.1, 0.6, 0.1), Verdict.DOUBTFUL, (Verdict.CORRECT, Verdict.SAME)),
        ((0.98, 0.01, 0.01, 0.0), Verdict.SAME, ()),
        ((0.6, 0.33, 0.07, 0.0), Verdict.REFINE, (Verdict.CORRECT, Verdict.SAME)),
        ((0.01, 0.97, 0.01, 0.01), Verdict.REFINE, ()),
        ((0.8, 0.08, 0.12, 0.0), Verdict.DISTINCT, (Verdict.CORRECT, Verdict.SAME)),
        ((0.5, 0.1, 0.0, 0.4), Verdict.DISTINCT, ()),
    ],
)
def test_probabilities_become_a_verdict(
    chances: tuple[float, ...], verdict: Verdict, others: tuple[Verdict, ...]
) -> None:
    """A possible correction stays beside the old text and weakens nothing. A model may decide the pair."""
    assert (decided(chances), between(chances)) == (verdict, others)


@pytest.mark.requirement("R-OPS-5")
@given(text=st.text())
def test_any_text_is_the_same_as_itself(text: str) -> None:
    """The same text is the same observation, whatever it holds."""
    judgement = judge.compare(text, text)
    assert (judgement.verdict, judgement.probability) == (Verdict.SAME, 1.0)


@pytest.mark.requirement("R-OPS-5")
@given(old=texts, new=texts, gap=st.sampled_from(["  ", "\n", "\t "]))
def test_case_and_spacing_never_matter(old: str, new: str, gap: str) -> None:
    """Other gaps between words, and a capital at the start, change nothing."""
    varied = gap.join(new.split(" "))
    expected, got = judge.compare(old, new), judge.compare(old, varied[0].swapcase() + varied[1:])
    assert got.verdict is expected.verdict


@pytest.mark.requirement("R-OPS-5")
@given(one=st.text(max_size=200), other=st.text(max_size=200))
def test_any_two_texts_can_be_judged(one: str, other: str) -> None:
    """No text raises; the score stays within 0 and 1, and a reason is given."""
    judgement = judge.compare(one, other)
    assert 0.0 <= judgement.probability <= 1.0
    assert judgement.reason.endswith(".")


@pytest.mark.requirement("R-OPS-5")
@settings(max_examples=300)
@given(words=st.lists(st.sampled_from(" ".join(TEXTS).split()), max_size=30), cut=st.integers(0, 30))
def test_any_mix_of_words_can_be_judged(words: list[str], cut: int) -> None:
    """Shuffled pieces of observations never raise, and get the same verdict each time."""
    one, other = " ".join(words[:cut]), " ".join(words[cut:])
    assert judge.compare(one, other) == judge.compare(one, other)


@pytest.mark.requirement("R-OPS-5")
@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "1",
        "not ",
        "1.",
        "60s ",
        "1-",
        "before after ",
        "restart fails, ",
        "x1y ",
        "not without ",
        "'",
        "é",
        "60 to ",
        "if a ",
        "was removed, ",
        "camera 1 ",
    ],
)
def test_hostile_texts_take_linear_time(piece: str) -> None:
    """A judgement of two texts of 100 kB ends within seconds, whatever they repeat."""
    one = piece * (100_000 // len(piece))
    other = one[: len(one) // 2] + " restart " + one[len(one) // 2 :]
    started = time.process_time()
    judge.compare(one, other)
    assert time.process_time() - started < 5


@pytest.mark.requirement("R-OPS-5")
@pytest.mark.parametrize(
    ("existing", "emitted", "named"),
    [
        ("Takes 60s to start", "Takes 90s to start", '"60s" against "90s"'),
        ("Requires Redis", "Does not require Redis", 'only the new text says "not"'),
        ("Must start after WireGuard", "Must start after Redis", '"WireGuard" against "Redis"'),
        ("Depends on LDAP", "The dependency on LDAP was removed", 'only the new text says "removed"'),
        ("Reload is safe", "Reload is safe if no client is connected", 'says "if no client connected"'),
        ("Runs weekly on Sundays", "Needs a snapshot", "in other words"),
        ("Start Gitea, then Redis", "Start Redis, then Gitea", "in another order"),
    ],
)
def test_the_reason_names_what_decided(existing: str, emitted: str, named: str) -> None:
    """An operator reads the words or quantities that decided, the existing observation's first."""
    assert named in judge.compare(existing, emitted).reason


@pytest.mark.requirement("JDG-06.2")
def test_the_nearest_texts_share_rare_words() -> None:
    """Words that all texts have tell nothing; of equally near texts, the later ones count."""
    texts = [f"The backup of host {name} runs at night" for name in ("oak", "elm", "ash", "fir", "yew")]
    assert judge.nearest("Host elm is backed up at noon", texts, 1) == [1]
    assert judge.nearest("The gate is blue", texts, 2) == [2, 3]
    assert judge.nearest("The gate is blue", texts, 5) == [0, 1, 2, 3, 4]
    assert judge.nearest("Elm and yew", texts, 2) == [1, 4]


@pytest.mark.requirement("JDG-06.2")
def test_equal_amounts_in_other_units_are_certain() -> None:
    """The reason does not claim that the words are the same."""
    judgement = judge.compare("Takes 60s to start", "Takes a minute to start")
    assert (judgement.verdict, judgement.probability) == (Verdict.SAME, 1.0)
    assert judgement.reason == "Both texts say the same in the same words and amounts."
