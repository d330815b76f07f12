"""The gate for secrets: how many secrets it refuses, and how much technical prose it refuses by mistake.

Secrets are made by the published formats of their makers, with random characters, and stand in sentences, assignments
and requests; each is also disguised by zero-width, full-width and Cyrillic characters and by percent-encoding. The
formats are those that the gate was written for, so the first rate shows that the forms are covered, not what the gate
makes of unknown ones.

Prose is collected on this machine: the documentation of this repository, the READMEs of installed packages, and manual
pages. A paragraph is one text. Nobody has labelled it, so a real secret in it counts as a false refusal, and the second
rate is an upper bound.

Where detect-secrets is installed (`pip install detect-secrets`), its rates are printed beside ours.

    python benchmarks/secret_gate.py [--show]
"""

import argparse
import base64
import gzip
import random
import re
import string
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from importlib.metadata import distributions
from pathlib import Path
from typing import cast
from urllib.parse import quote

from commonplace.core.secrets import SecretFinding, find_secret

ROOT = Path(__file__).parents[1]
MANUALS = Path("/usr/share/man")
MOST_MANUALS = 600
SHORTEST, LONGEST = 40, 2_000
"""Characters of a paragraph; shorter ones are headings, longer ones tables and listings."""
TARGET_MISSED, TARGET_REFUSED = 0.0, 0.005
SEED = 15

LETTERS, HEX = string.ascii_letters + string.digits, "0123456789abcdef"
TOKENS = {
    "OpenAI": ("sk-", LETTERS, 48),
    "OpenAI project": ("sk-proj-", LETTERS, 48),
    "Anthropic": ("sk-ant-api03-", LETTERS, 80),
    "GitHub": ("ghp_", LETTERS, 36),
    "GitHub fine-grained": ("github_pat_", LETTERS, 60),
    "GitLab": ("glpat-", LETTERS, 20),
    "GitLab runner": ("glrt-", LETTERS, 20),
    "Slack bot": ("xoxb-", string.digits, 24),
    "Slack app": ("xapp-1-", LETTERS, 40),
    "Stripe live": ("sk_live_", LETTERS, 24),
    "Stripe restricted": ("rk_test_", LETTERS, 24),
    "Stripe webhook": ("whsec_", LETTERS, 32),
    "Hugging Face": ("hf_", LETTERS, 34),
    "npm": ("npm_", LETTERS, 36),
    "PyPI": ("pypi-AgEIcHlwaS5vcmc", LETTERS, 100),
    "Telegram": ("123456789:AA", LETTERS, 33),
    "Vault": ("hvs.", LETTERS, 24),
    "Vault batch": ("hvb.", LETTERS, 100),
    "Shopify": ("shpat_", HEX, 32),
    "Shopify app": ("shpss_", HEX, 32),
    "Twilio": ("SK", HEX, 32),
    "Mailgun": ("key-", HEX, 32),
    "DigitalOcean": ("dop_v1_", HEX, 64),
    "Databricks": ("dapi", HEX, 32),
    "Linear": ("lin_api_", LETTERS, 40),
    "Notion": ("ntn_", LETTERS, 46),
    "Figma": ("figd_", LETTERS, 40),
    "Atlassian": ("ATATT3xFfGF0", LETTERS, 60),
    "Square": ("sq0atp-", LETTERS, 22),
    "Grafana": ("glsa_", LETTERS, 41),
    "New Relic": ("NRAK-", string.ascii_uppercase + string.digits, 27),
    "Netlify": ("nfp_", LETTERS, 40),
    "Docker": ("dckr_pat_", LETTERS, 27),
    "Groq": ("gsk_", LETTERS, 52),
    "Replicate": ("r8_", LETTERS, 37),
    "Google API": ("AIza", LETTERS, 35),
    "Google OAuth": ("GOCSPX-", LETTERS, 28),
    "AWS": ("AKIA", string.ascii_uppercase + string.digits, 16),
    "Doppler": ("dp.pt.", LETTERS, 43),
    "PlanetScale": ("pscale_tkn_", LETTERS, 43),
    "RubyGems": ("rubygems_", HEX, 48),
    "Supabase": ("sbp_", HEX, 40),
}
ASSIGNMENTS = (
    "password={}",
    "PASSWORD='{}'",
    "DB_PASSWORD={}",
    "spring.datasource.password={}",
    "passwd = {}",
    "client_secret: {}",
    "Passphrase: {}",
    "host=db user=app password={} dbname=shop",
    "postgres://app:{}@db.internal:5432/shop",
    "https://api.example.com/v1/items?access_token={}",
    "API_KEY={}",
    'api_key: "{}"',
    "x-api-key: {}",
    "apiKey = '{}'",
    '"clientSecret": "{}"',
    "SECRET_KEY = '{}'",
    "aws_secret_access_key = {}",
    "export ACCESS_TOKEN={}",
    "auth_token={}",
    "Server=db;User Id=sa;Password={};",
    "jdbc:postgresql://db/shop?user=app&password={}",
    "mongodb+srv://app:{}@cluster0.mongodb.net",
    "redis://:{}@cache:6379/0",
    "https://example.com/hook?a=1&api_key={}",
    "Authorization: token {}",
    "--password {}",
    "mysql --password={} shop",
    "curl -u ada:{} https://example.com",
    "machine example.com login ada password {}",
    "the password is {}",
)
WITH_A_WORD = 10
"""Behind the first of these, a plain word is a secret too."""
FRAMES = (
    "{}",
    "We deploy with {} since Monday.",
    "key: `{}`",
    "Ada said: use {}\nand restart.",
    '{{"value": "{}"}}',
)
CYRILLIC = str.maketrans(
    "aceopxyiksTHMBKAPCE",
    "\u0430\u0441\u0435\u043e\u0440\u0445\u0443\u0456\u043a\u0455\u0422\u041d\u041c\u0412\u041a\u0410\u0420\u0421\u0415",
)
FULL_WIDTH = str.maketrans({chr(code): chr(code + 0xFEE0) for code in range(0x21, 0x7F)})


def zero_width(text: str) -> str:
    """Return a text with a zero-width space after every third character."""
    return re.sub(r"(...)", "\\1\u200b", text)


DISGUISES: dict[str, Callable[[str], str]] = {
    "plain": str,
    "zero-width": zero_width,
    "full-width": lambda text: text.translate(FULL_WIDTH),
    "Cyrillic": lambda text: text.translate(CYRILLIC),
    "percent-encoded": lambda text: "".join(f"%{ord(each):02X}" for each in text),
    "quoted": partial(quote, safe=""),
}


def secrets() -> Iterator[tuple[str, str]]:
    """Yield secrets in their frames, each with its kind."""
    chance = random.Random(SEED)  # noqa: S311 - the same figures every time

    def made(alphabet: str, length: int) -> str:
        return "".join(chance.choices(alphabet, k=length))

    for kind, (prefix, alphabet, length) in TOKENS.items():
        for frame in FRAMES:
            yield kind, frame.format(prefix + made(alphabet, length))
    for frame in FRAMES:
        yield "SendGrid", frame.format(f"SG.{made(LETTERS, 22)}.{made(LETTERS, 43)}")
        yield "Mailchimp", frame.format(f"{made(HEX, 32)}-us21")
        basic = base64.b64encode(f"ada:{made(LETTERS, 10)}".encode()).decode()
        yield "Basic", frame.format(f"Authorization: Basic {basic}")
    for assignment in ASSIGNMENTS[:WITH_A_WORD]:
        yield assignment.format("…"), assignment.format("swordfish")
    for assignment in ASSIGNMENTS:
        for value in (f"{made(LETTERS, 15)}7aZ", f"{made(HEX, 28)}a1b2", "Tr0ub4dor&3", "hunter2!42"):
            yield assignment.format("…"), assignment.format(value)


def prose() -> Iterator[tuple[str, str]]:
    """Yield paragraphs of technical prose, each with its source."""
    for path in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]):
        yield from _paragraphs("this repository", path.read_text(encoding="utf-8"))
    for package in sorted(distributions(), key=lambda each: each.name or ""):
        yield from _paragraphs("package READMEs", str(package.metadata.json.get("description", "")))
    pages = sorted([*MANUALS.glob("man[1-8]/*.gz"), *MANUALS.glob("man[1-8]/*.[1-8]")])
    for path in pages[:: max(1, len(pages) // MOST_MANUALS)]:
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        yield from _paragraphs("manual pages", _without_macros(raw.decode("utf-8", "replace")))


def _without_macros(page: str) -> str:
    """Return the text of a manual page: a paragraph ends at a request, and fonts and escapes are dropped."""
    lines: list[str] = []
    for line in page.splitlines():
        font = re.match(r"[.'](?:[BIR]{1,2}|SM|Nm|Ar|Fl|Pa|Em|Sy)\s+(.*)", line)
        lines.append(font[1] if font else "" if line.startswith((".", "'")) else line)
    return re.sub(r"\\f.|\\&|\\[|/,]", "", "\n".join(lines)).replace("\\-", "-").replace('"', "")


def _paragraphs(source: str, text: str) -> Iterator[tuple[str, str]]:
    for paragraph in re.split(r"\n\s*\n", text):
        if SHORTEST <= len(paragraph.strip()) <= LONGEST:
            yield source, paragraph.strip()


def detect_secrets() -> Callable[[str], bool] | None:
    """Return detect-secrets with its default plugins and filters, or ``None`` if it is not installed."""
    try:
        scan = import_module("detect_secrets.core.scan")
        settings = import_module("detect_secrets.settings")
    except ImportError:
        return None

    def finds(text: str) -> bool:
        with settings.default_settings():
            lines = list(enumerate(text.splitlines(), 1))
            return any(True for _ in scan._process_line_based_plugins(lines, "memory.txt"))  # noqa: SLF001 - as scan_file does

    return finds


def main() -> int:
    """Print both rates; return 1 if a target is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--show", action="store_true", help="print what was missed and what was refused")
    show = parser.parse_args().show
    gates: dict[str, Callable[[str], bool]] = {"commonplace": lambda text: find_secret(text) is not None}
    if other := detect_secrets():
        gates["detect-secrets"] = other
    made = list(secrets())
    paragraphs = sorted(set(prose()))
    rates: dict[str, tuple[float, float]] = {}
    for gate, finds in gates.items():
        print(f"\n{gate}: secrets refused, of {len(made)} in each disguise")
        missed = 0
        for name, disguise in DISGUISES.items():
            stored = [(kind, text) for kind, text in made if not finds(disguise(text))]
            missed += len(stored)
            print(f"  {name:16}{1 - len(stored) / len(made):9.2%}")
            if show and gate == "commonplace":
                for kind, text in stored:
                    print(f"    stored: {kind}: {text!r}")
        began = time.perf_counter()
        refused = [(source, text) for source, text in paragraphs if finds(text)]
        took_s = time.perf_counter() - began
        of_source = Counter(source for source, _ in paragraphs)
        print(
            f"{gate}: prose refused, of {len(paragraphs)} paragraphs, {took_s / len(paragraphs) * 1e6:.0f} µs each"
        )
        for source, count in of_source.items():
            wrong = sum(each == source for each, _ in refused)
            print(f"  {source:16}{wrong / count:9.2%}  ({wrong} of {count})")
        print(f"  {'all':16}{len(refused) / len(paragraphs):9.2%}")
        if show and gate == "commonplace":
            for source, text in refused:
                found = cast("SecretFinding", find_secret(text))
                print(f"    {source}: {found.kind}: {text[max(0, found.start - 20) : found.end + 10]!r}")
        rates[gate] = (missed / (len(made) * len(DISGUISES)), len(refused) / len(paragraphs))
    missed_rate, refused_rate = rates["commonplace"]
    return int(missed_rate > TARGET_MISSED or refused_rate > TARGET_REFUSED)


if __name__ == "__main__":
    raise SystemExit(main())
