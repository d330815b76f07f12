"""The judge's vocabulary: which words mean the same, which oppose each other, and which say little.

Plain data about how operators write, not about particular services. Words are listed in their base form, because
they are stemmed before they are looked up ("restarting" is found under "restart"). A row of `SAME` is one idea. A
row of `OPPOSED` is one idea with two poles: its name, the words of the positive pole, the words of the negative.
"""

from typing import Final


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text, so that long sets stay readable."""
    return frozenset(text.split())


NEGATORS: Final = word_set(
    "not no never without cannot cant dont doesnt didnt isnt arent wasnt werent wont wouldnt shouldnt "
    "couldnt mustnt neednt hasnt havent aint nothing none neither nor avoid hardly rarely seldom barely "
    "insteadof unless refrain",
)
"""Each turns around the idea that it governs: the next word that means something."""

SECOND_NEGATORS: Final = frozenset({"without", "unless"})
"""After another negator they cancel it: "cannot start without the database" is "starts with the database"."""

CLAUSE_OPENERS: Final = word_set("if when while until")
"""A negator before and one behind cancel: "does not start if the database is not running"."""

HEDGES: Final = word_set(
    "about around roughly approximately approx circa ca nearly almost ~ ≈ some somewhere typically "
    "usually generally often",
)
"""Before a quantity they say that it is not exact."""

LOWER_BOUNDS: Final = word_set("atleast over above minimum min beyond exceeding exceeds > ≥ >= ")
UPPER_BOUNDS: Final = word_set("atmost under below within maximum max < ≤ <=")

STOPWORDS: Final = word_set(
    "a an the this that these those it its they them their he she we you your our i there here of to in "
    "on at by for from with as into onto over under per and or but so also too is are was were be "
    "been being am do does did done has have had having will would shall may might can could which who "
    "whom whose what how why than if when while whenever where during because since whether either both "
    "just only very really quite still yet again already even ever always simply please otherwise else "
    "upon via about around through till some any all each such own it's get gets got getting become "
    "becomes becoming now up s t re d ll ve e g usually typically generally normally often mostly thing "
    "things later between against among within above below every sometime anyway however therefore thus "
    "hence",
)
"""Words that never decide; some of them were read before as part of a quantity or a phrase."""

LIGHT: Final = word_set(
    "take need must should want run running use make happen time attempt service container "
    "instance app application process sometimes instead wait new own let cause result show see "
    "appear current fully complete default value item way case properly correctly cleanly main whole job "
    "give itself way set perform execute go sure together gracefully ",
)
"""Words that say little: their absence from one of two observations does not make them differ."""

SAME: Final = (
    "restart reboot relaunch bounce",
    "start startup boot launch",
    "stop shutdown halt terminate",
    "take lasts lasting",
    "ready initialise initialize answer respond reply return",
    "crash segfault abort panic die",
    "check probe verify test",
    "remove delete erase purge prune",
    "certificate cert",
    "database db",
    "postgres postgresql pg pgsql",
    "directory dir folder",
    "config configuration conf cfg",
    "environment env",
    "kubernetes k8s",
    "repository repo",
    "authentication auth",
    "memory ram",
    "cpu processor",
    "message msg",
    "error exception fault",
    "sometimes occasionally intermittently sporadically",
    "renew renewal reissue",
    "update upgrade patch",
    "refresh reload",
    "request query",
    "connection conn",
    "reindex index",
    "scan rescan",
    "begin commence",
    "finish complete end",
    "fill exhaust",
    "hang freeze stick stuck stall",
    "drive disk disc",
    "volume share",
    "log logging logger",
    "setting option parameter",
    "notify alert notification",
    "clock ntp",
    "user account",
    "password passphrase",
    "replica standby",
    "primary master",
    "interval period",
    "page site",
    "ui dashboard gui",
    "vpn tunnel",
    "cleanup clean",
    "clear flush",
    "watch monitor",
    "issue problem",
    "mail email",
    "leak leakage",
    "delay latency",
    "redirect redirection",
    "slot spot",
)
"""Rows of words for one idea; the first word names it. A word belongs to one row."""

OPPOSED: Final = (
    ("NEED", "must need require depend requirement dependency dependent mandatory necessary should rely want",
     "independent independently optional unnecessary needless neednt"),
    ("SAFE", "safe harmless ok okay recommend advisable", "unsafe dangerous risky harmful inadvisable destructive"),
    ("POSSIBLE", "possible able", "impossible unable"),
    ("ORDER", "after following afterwards afterward", "before until prior preceding beforehand then"),
    ("SUCCESS", "succeed success work pass fine successful cleanly", "fail failure break broken unsuccessful"),
    ("HELP", "help useful effective fix resolve solve repair cure remedy", "useless ineffective pointless futile"),
    ("HEALTH", "healthy", "unhealthy sick"),
    ("AVAILABLE", "available reachable online accessible reach", "unavailable unreachable offline inaccessible down"),
    ("ENABLE", "enable activate on", "disable deactivate off"),
    ("ALLOW", "allow permit accept", "block deny forbid reject refuse prohibit disallow"),
    ("INCREASE", "increase raise grow rise extend enlarge", "decrease lower reduce shrink drop lessen"),
    ("SPEED", "fast quick quickly rapid instant faster", "slow sluggish slower slowly"),
    ("LEVEL", "high higher many more", "low few fewer less"),
    ("SIZE", "large big huge larger bigger", "small tiny smaller little"),
    ("LENGTH", "long longer", "short shorter brief"),
    ("EARLY", "early earlier", "late"),
    ("SYNC", "synchronous", "asynchronous async"),
    ("AUTOMATIC", "automatic automatically auto unattended", "manual manually interactive"),
    ("PUBLIC", "public external", "private internal"),
    ("OPEN", "open", "close closed shut"),
    ("LOCK", "lock locked", "unlock unlocked"),
    ("MOUNT", "mount", "unmount umount"),
    ("CONNECT", "connect", "disconnect"),
    ("ENCRYPT", "encrypt encrypted encryption", "unencrypted plaintext cleartext"),
    ("WRITABLE", "writable writeable", "readonly immutable"),
    ("PRESENT", "present exist", "missing absent"),
    ("VALID", "valid", "invalid"),
    ("COMPATIBLE", "compatible", "incompatible"),
    ("SUPPORT", "support supported", "unsupported"),
    ("RELIABLE", "reliable stable dependable", "unreliable unstable flaky"),
    ("SUFFICIENT", "sufficient enough adequate", "insufficient inadequate"),
    ("CORRECT", "correct right", "incorrect wrong"),
    ("TRUTH", "true", "false"),
    ("KEEP", "keep retain preserve survive persist retention", "lose lost discard forget wipe"),
    ("INCLUDE", "include", "exclude omit skip"),
    ("IMPROVE", "improve better", "degrade worsen worse"),
    ("STATIC", "static", "dynamic"),
    ("SAME", "same identical", "different"),
    ("PERSISTENT", "persistent permanent", "ephemeral temporary volatile"),
    ("COMMON", "common frequent", "rare uncommon infrequent"),
    ("EXPECTED", "expected normal", "unexpected abnormal"),
    ("FULL", "full", "empty"),
    ("CONSISTENT", "consistent", "inconsistent"),
    ("ACTIVE", "active", "inactive idle"),
    ("HONOUR", "honour honor respect obey", "ignore disregard"),
)  # fmt: skip
"""Ideas with two poles. "Fails" is the negative pole of SUCCESS, and "never fails" the positive one."""

ABSENCE: Final = frozenset({"AVAILABLE", "PRESENT"})
"""Opposed ideas whose negative pole says that something is not there."""

OPERATORS: Final = frozenset({"NEED", "SAFE", "POSSIBLE", "ORDER", "SUCCESS", "HELP"})
"""Ideas that judge another one. "Not required" and "no restart" both deny the restart, so a turn of one of these
and a turn of its neighbour cancel."""

LIGHT_IDEAS: Final = frozenset({"NEED", "SAFE", "POSSIBLE", "ORDER", "LEVEL", "AVAILABLE"})
"""Opposed ideas that weigh as little as the words of `LIGHT`."""

CONNECTORS: Final = frozenset({"ORDER"})
"""Ideas that relate what stands on their left to what stands on their right."""

OBLIGATION: Final = word_set("must should require need")
PERMISSION: Final = word_set("can may might could")

CONDITIONS: Final = word_set("if when while whenever during unless under with after on for until since in")
"""Words that open a circumstance; an observation that holds only then does not deny one that names none."""

NAMES: Final = word_set(
    "adguard alertmanager ansible apache authelia authentik aws azure bind bitwarden bookstack borg caddy "
    "calibre ceph certbot chrony cloudflare cloudflared consul coredns crowdsec debian dnsmasq docker "
    "dovecot drone duplicati elasticsearch emby envoy etcd fail2ban fluentd forgejo freshrss frigate "
    "gitea gitlab gluster grafana graylog haproxy homeassistant immich influxdb jellyfin jenkins k3s "
    "kafka keycloak kibana kubernetes lidarr loki mailcow mariadb mastodon matrix memcached minio "
    "miniflux mongodb mosquitto mqtt mysql n8n nextcloud nfs nginx nomad ntfy openldap opnsense paperless "
    "pfsense photoprism pihole plex podman portainer postfix postgres prometheus prowlarr proxmox "
    "rabbitmq radarr redis restic samba sonarr sqlite squid ssh stepca synapse syncthing systemd "
    "tailscale telegraf traefik transmission truenas ubuntu unbound unifi uptime vault vaultwarden "
    "victoriametrics wireguard zabbix zfs zigbee zookeeper",
)
"""Programs and protocols that observations speak of. One name in the place of another is another subject."""

LABELS: Final = word_set(
    "version port node release vlan channel worker shard disk slot vm zone phase step tier site host "
    "instance",
)
"""Nouns that a number identifies: "Version 2.4 leaks memory" speaks of one version, and says nothing of 2.5."""
