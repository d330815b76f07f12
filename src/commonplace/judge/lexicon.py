"""Words around amounts: phrases that act as one word, hedges, limits, and labels of numbers.

Plain data about how operators write.
"""

from typing import Final

from commonplace.language.words import word_set

PHRASES: Final = {
    phrase.strip(): meaning.strip()
    for row in """
        not: no longer, no more, fail to, fails to, failed to, failing to, unable to, refuses to, refuse to
        insteadof: instead of, rather than, in place of
        after: not until, only after, even after, as soon as, subsequent to, following the, following a, following an
        before: ahead of, prior to
        if: as long as, so long as, provided that, in case, only when, only if
        except: apart from, aside from, with the exception of, other than, except for, but not
        must: have to, has to, had to, need to, needs to, ought to, supposed to
        neednot: do not have to, does not have to, dont have to, doesnt have to, need not, no need to, not have to
        automatic: on its own, by itself, on their own, by themselves, without help, itself, themselves
        manual: by hand
        default: by default
        available: is up, are up, be up, being up
        start: come up, comes up, coming up, came up, come back, comes back, start up, starts up, starting up, spin up
        stop: shut down, shuts down, shutting down
        disable: is off, are off, stays off, turn off, turned off, switch off, switched off
        because: due to, because of, owing to, on account of
        oom: out of memory, oom killer, oom killed
        exhaust: run out of, runs out of
        readonly: read only
        backup: back up, backs up, backed up, backing up
        enable: turn on, turned on, switch on, switched on
        timeout: time out, times out, timed out
        failover: fail over, fails over
        outage: out of service, out of order
        atleast: at least, no less than, not less than, minimum of, a minimum of, more than, longer than, larger than
        atleast: bigger than, greater than, higher than, hotter than, warmer than, older than
        atmost: at most, no more than, not more than, maximum of, a maximum of, up to, as much as, as many as
        atmost: less than, fewer than, smaller than, lower than, shorter than, colder than, cooler than
        orabove: or more, or newer, or later, or higher, or above, and above, and newer, and later
        orbelow: or below, or less, or fewer, or older, or lower, or earlier
        every: once a, once per, once an, once every
        every 2: every other, every second
        every day: every night, each night
    """.strip().splitlines()
    for meaning, _, phrases in [row.partition(":")]
    for phrase in phrases.split(",")
}
"""Several words that act as one; the longest phrase is matched first."""

HEDGES: Final = word_set(
    "about around roughly approximately approx circa ca nearly almost ~ ≈ ± some somewhere typically usually "
    "generally often",
)
"""Words before an inexact quantity."""

LOWER_BOUNDS: Final = word_set("atleast over above minimum min beyond exceeding exceeds exceed > ≥ >=")
UPPER_BOUNDS: Final = word_set("atmost under below within maximum max < ≤ <=")

LABELS: Final = word_set(
    "ap area bay bench bucket bus camera case cell channel circuit cluster code core db device disk door drive "
    "error exit fan feed floor gate generator gpu group host instance job lane line loop lun member node "
    "partition pdu peer phase port printer pump queue rack region release replica room rule sensor shard shift "
    "signal site slot stage station status step switch tank team ticket tier track tray unit ups v version "
    "vlan vm volume worker zone",
)
"""Nouns that a following number or letter identifies."""
