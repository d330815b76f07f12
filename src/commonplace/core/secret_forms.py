"""Published forms of keys and tokens.

Every pattern takes time linear in the length of the text. A form without its own prefix is found by its label or
its randomness: see :mod:`commonplace.core.secrets`.
Source: WSP-03, R-WSP-3, HRD-06; the makers' documentation.
"""

import re
from typing import Final

_BOUNDARY = r"(?<![A-Za-z0-9\u00c0-\u024f])"
_NAMING = r"(?!(?:based|keys?|like|prefix|prefixed|style|tokens?|type)(?![\w-]))"
"""Text such as ``a glpat-style token`` mentions the prefix but is not a token."""
_LIBRARY = r"(?!(?:learn|image|video|ssh|ecdsa)(?![A-Za-z0-9]))"

_SPECIFIED: Final = (
    # Six characters, or three with a digit: shorter ones are words and locales (sk-learn, sk-SK).
    (
        "API key (sk-…)",
        ("sk-",),
        rf"{_BOUNDARY}sk-{_NAMING}{_LIBRARY}(?:(?<![/.]sk-)[\w-]{{6}}|(?=[\w-]{{0,15}}\d)[\w-]{{3}})[\w-]*",
    ),
    ("GitHub token", ("gh", "github_pat_"), rf"{_BOUNDARY}(?:gh[opsur]_|github_pat_)\w{{3,}}"),
    ("GitLab token", ("glpat-",), rf"{_BOUNDARY}glpat-{_NAMING}[\w-]{{3,}}"),
    ("commonplace token", ("cpl_",), rf"{_BOUNDARY}cpl_[\w-]{{20,}}"),
    ("Slack token", ("xox",), rf"{_BOUNDARY}xox[abeprs]-{_NAMING}[\w-]{{3,}}"),
    (
        "Slack or Discord webhook",
        ("hooks.slack.com", "/api/webhooks/"),
        r"hooks\.slack\.com/services/\w{3}|discord(?:app)?\.com/api/webhooks/\d",
    ),
    ("AWS access key", ("AKIA", "ASIA"), r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("Google API key", ("AIza",), rf"{_BOUNDARY}AIza[\w-]{{35}}(?![\w-])"),
    ("private key", ("-----BEGIN",), r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY"),
    ("JSON web token", ("eyJ",), r"(?<![\w-])eyJ[\w-]{10,}+\.eyJ[\w-]{10,}+"),
    (
        "password in a URL",
        ("://",),
        r"://[^\s/@:]*+:(?!(?:\*+|pass(?:word)?|pwd|<[^>\s]*+>|\$\S++|\{[^}\s]*+\}|\[[^\]\s]*+\]|%\w)@)[^\s/@]++@",
    ),
)

_MAKERS: Final = (
    ("Airtable token", ("pat",), r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    ("Atlassian token", ("ATATT3", "ATCTT3"), r"AT[AC]TT3[\w=-]{20,}"),
    ("age key", ("AGE-SECRET-KEY-1",), r"AGE-SECRET-KEY-1[0-9A-Z]{20,}"),
    ("Azure key", ("AccountKey=", "SharedAccessKey="), r"(?:AccountKey|SharedAccessKey)=[A-Za-z0-9+/]{20,}"),
    ("Databricks token", ("dapi",), r"dapi[0-9a-f]{32}"),
    ("DigitalOcean token", ("_v1_",), r"do[opr]_v1_[0-9a-f]{32,}"),
    ("Discord token", (".",), r"[MNO][A-Za-z\d_-]{23,27}\.[\w-]{6}\.[\w-]{27,}"),
    ("Docker token", ("dckr_",), r"dckr_(?:pat|oat)_[\w-]{20,}"),
    ("Doppler token", ("dp.",), r"dp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{20,}"),
    ("Figma token", ("fig",), r"fig[dou]_[\w-]{20,}"),
    ("Fly token", ("fm1", "fm2"), r"fm[12][ar]?_[A-Za-z0-9+/=_-]{30,}"),
    ("GitLab token", ("gl",), r"gl(?:dt|rt|cbt|ptt|ft|soat|agent|imt|oas|ffct)-[\w-]{20,}"),
    (
        "Google OAuth secret",
        ("GOCSPX-", "ya29.", "1//0"),
        r"GOCSPX-[\w-]{20,}|ya29\.[\w-]{20,}|1//0[\w-]{30,}",
    ),
    ("Grafana token", ("glsa_", "glc_"), r"gl(?:sa|c)_[A-Za-z0-9_+/=]{30,}"),
    ("Groq key", ("gsk_",), r"gsk_[A-Za-z0-9]{30,}"),
    ("Hugging Face token", ("hf_", "api_org_"), r"(?:hf|api_org)_[A-Za-z0-9]{16,}"),
    ("Linear key", ("lin_",), r"lin_(?:api|oauth)_[A-Za-z0-9]{30,}"),
    ("Mailchimp key", ("-us",), r"[0-9a-f]{32}-us\d{1,2}"),
    ("Mailgun key", ("key-",), r"key-[0-9a-f]{32}"),
    ("Netlify token", ("nfp_",), r"nfp_[A-Za-z0-9]{30,}"),
    ("New Relic key", ("NR",), r"NR(?:AK|JS|II|RA|AL)-[A-Za-z0-9]{20,}"),
    ("Notion token", ("ntn_", "secret_"), r"ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43}"),
    ("npm token", ("npm_",), r"npm_[A-Za-z0-9]{20,}"),
    ("Perplexity key", ("pplx-",), r"pplx-[A-Za-z0-9]{30,}"),
    ("PlanetScale token", ("pscale_",), r"pscale_(?:tkn|pw|oauth)_[\w.-]{30,}"),
    ("Postman key", ("PMAK-",), r"PMAK-[0-9a-f]{20,}-[0-9a-f]{30,}"),
    ("PyPI token", ("pypi-A",), r"pypi-A[\w-]{40,}"),
    ("Replicate token", ("r8_",), r"r8_[A-Za-z0-9]{30,}"),
    ("RubyGems key", ("rubygems_",), r"rubygems_[0-9a-f]{40,}"),
    ("SendGrid key", ("SG.",), r"SG\.[\w-]{10,}\.[\w-]{10,}"),
    ("Sentry token", ("sntry",), r"sntry[su]_[A-Za-z0-9_+/=]{40,}"),
    ("Shopify token", ("shp",), r"shp(?:at|ca|pa|ss|ua)_[0-9a-fA-F]{20,}"),
    ("Slack app token", ("xapp-", "xoxe."), r"xapp-\d-[\w-]{20,}|xoxe\.xox[bp]-[\w-]{20,}"),
    ("Square token", ("sq0", "EAAA"), r"sq0(?:atp|csp|idp)-[\w-]{20,}|EAAA[\w-]{60}"),
    ("Stripe key", ("k_", "whsec_"), r"[rs]k_(?:live|test|prod)_[A-Za-z0-9]{8,}|whsec_[A-Za-z0-9+/]{20,}"),
    ("Supabase token", ("sbp_", "sb_secret_"), r"sbp_[0-9a-f]{40}|sb_secret_[\w-]{20,}"),
    ("Telegram bot token", (":A",), r"\d{6,12}:A[A-Za-z0-9_-]{28,36}(?![\w-])"),
    ("Terraform token", (".atlasv1.",), r"[A-Za-z0-9]{14}\.atlasv1\.[\w-]{40,}"),
    ("Twilio key", ("SK",), r"SK[0-9a-f]{32}(?![0-9a-f])"),
    ("Vault token", ("hv",), r"hv[bsr]\.[\w-]{20,}"),
    ("Vault token", ("s.",), r"s\.(?=[a-z]*[A-Z0-9])[A-Za-z0-9]{24}(?![\w.-])"),
    ("xAI key", ("xai-",), r"xai-[A-Za-z0-9]{40,}"),
    (
        "password of a program",
        ("@tcp(", "@unix("),
        r"\w{2,}:(?!\*+@|pass(?:word)?@)[^\s:@/<>{}$]{3,}@(?:tcp|unix)\(",
    ),
)

FORMS: Final = tuple(
    (kind, needles, re.compile(pattern))
    for kind, needles, pattern in (
        *_SPECIFIED,
        *((kind, needles, rf"(?<![A-Za-z0-9])(?:{pattern})") for kind, needles, pattern in _MAKERS),
    )
)
"""Each kind with its pattern, the specified kinds first. A text that the pattern matches contains one of the needles;
searching for the needles first is twenty times as fast."""
