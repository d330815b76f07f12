"""Container, units and releases fit the commands, settings and files that exist."""

import json
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer.main
import yaml

from commonplace.cli.main import app
from commonplace.core.settings import Settings, variable_of
from support.scripts import script

ROOT = Path(__file__).parents[2]
UNITS = sorted((ROOT / "packaging").glob("*.service"))
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def release() -> ModuleType:
    """The script of ``make release``."""
    return script("release")


def require_command(words: list[str]) -> None:
    """Fail if the command line would refuse a command."""
    program, name, *options = words
    assert Path(program).name == "commonplace"
    group: Any = typer.main.get_command(app)
    with group.context_class(group) as context:
        group.get_command(context, name).make_context(name, options, parent=context)


def instructions() -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", "")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(line.partition(" ")[0], line.partition(" ")[2]) for line in lines]


def variables() -> set[str]:
    """Return the environment variables of all settings."""
    return {variable_of(name) for name in Settings.model_fields}


def test_the_image_runs_the_service_without_root() -> None:
    """The last stage has a user, volumes for the data, and a command that exists."""
    last = instructions()[max(i for i, (word, _) in enumerate(instructions()) if word == "FROM") :]
    given = dict(last)
    assert given["USER"] == "commonplace"
    assert json.loads(given["VOLUME"]) == ["/data", "/workspace"]
    require_command(json.loads(given["CMD"]))
    assert set(re.findall(r"COMMONPLACE_\w+", given["ENV"])) <= variables()
    check = json.loads(given["HEALTHCHECK"].partition("CMD ")[2])
    compile(check[2], "HEALTHCHECK", "exec")
    assert f":{given['EXPOSE']}/healthz" in check[2]


def test_the_image_gets_every_file_that_the_build_reads() -> None:
    """The ignore file lets through only names that exist."""
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    allowed = {line[1:] for line in lines if line.startswith("!")}
    assert all((ROOT / name).exists() for name in allowed)
    assert allowed >= {
        "LICENSE",
        "README.md",
        "constraints.txt",
        "examples",
        "pyproject.toml",
        "scripts",
        "src",
    }


def test_compose_names_settings_and_volumes_that_exist() -> None:
    """Both services keep their data in named volumes; only loopback reaches the port."""
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
    services = compose["services"]
    ours = services["commonplace"]
    assert {name for name in ours["environment"] if name.startswith("COMMONPLACE_")} <= variables()
    used = {volume.partition(":")[0] for service in services.values() for volume in service["volumes"]}
    files = {name for name in used if name.startswith("./")}
    assert used - files == set(compose["volumes"])
    assert all((ROOT / name).is_file() for name in files)
    assert all(port.startswith("127.0.0.1:") for port in ours["ports"])
    assert services["postgres"]["image"].startswith("pgvector/pgvector:")
    given = set(
        re.findall(r"(?m)^\\getenv \w+ (\w+)$", (ROOT / "packaging/roles.sql").read_text(encoding="utf-8"))
    )
    assert given <= set(services["postgres"]["environment"])
    assert "POSTGRES_USER" not in services["postgres"]["environment"]  # the image makes it a superuser


def test_every_alert_has_its_section_in_the_handbook() -> None:
    """The page lists the rules by name, and says of each one what to do when it fires."""
    page = (ROOT / "docs" / "operations" / "alerts.md").read_text(encoding="utf-8")
    groups = yaml.safe_load((ROOT / "packaging" / "alerts.yml").read_text(encoding="utf-8"))["groups"]
    rules = {rule["alert"]: rule for group in groups for rule in group["rules"]}
    listed = dict(re.findall(r"^\| `(\w+)` \| \[[^]]+\]\(#([\w-]+)\) \|", page, re.MULTILINE))
    sections = {title.lower().replace(" ", "-") for title in re.findall(r"^## (.+)$", page, re.MULTILINE)}
    assert list(listed) == list(rules)
    assert sections == set(listed.values())
    for name, rule in rules.items():
        assert rule["annotations"] == {"runbook": f"docs/operations/alerts.md#{listed[name]}"}


def test_the_addition_to_the_unit_runs_a_command_that_exists() -> None:
    """An empty line takes the unit's own command back, as systemd requires."""
    text = (ROOT / "packaging" / "cluster.conf").read_text(encoding="utf-8")
    cleared, command = re.findall(r"^ExecStart=(.*)$", text, re.MULTILINE)
    assert not cleared
    require_command(shlex.split(command))


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_units_run_commands_that_exist(unit: Path, tmp_path: Path) -> None:
    """With settings that exist; systemd accepts the unit, where it is installed."""
    text = unit.read_text(encoding="utf-8")
    command = re.search(r"^ExecStart=(.+)$", text, re.MULTILINE)[1]
    require_command(shlex.split(command))
    assert set(re.findall(r"^Environment=(\w+)=", text, re.MULTILINE)) <= variables()
    if shutil.which("systemd-analyze"):
        program = command.split()[0]
        for each in UNITS:  # one wants the other
            here = each.read_text(encoding="utf-8").replace(program, sys.executable)
            (tmp_path / each.name).write_text(here, encoding="utf-8")
        done = subprocess.run(
            ["systemd-analyze", "verify", str(tmp_path / unit.name)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")


def test_units_are_hardened_alike() -> None:
    """The units differ in their command and description alone."""
    services = [unit.read_text(encoding="utf-8").partition("[Service]")[2].splitlines() for unit in UNITS]
    first, second = ([line for line in each if not line.startswith("ExecStart=")] for each in services)
    assert first == second
    assert {"NoNewPrivileges=yes", "ProtectSystem=strict", "User=commonplace-service"} <= set(first)


def test_links_of_the_readme_work_on_an_index() -> None:
    """Every relative link becomes the address of a file that exists at the version."""
    readme = script("readme")
    relative = [(found["path"], found["image"]) for found in readme.LINK.finditer(README)]
    assert relative
    text = readme.with_absolute_links(README, "https://example.org/memory", "v1.2.3")
    assert not readme.LINK.search(text)
    for path, image in relative:
        assert (ROOT / path.partition("#")[0]).exists()
        kind = "raw" if image else "tree" if path.endswith("/") else "blob"
        assert f"](https://example.org/memory/{kind}/v1.2.3/{path})" in text
    image = readme.with_absolute_links("![shot](docs/shot.png) [a](#b) [c](https://d)", "https://e", "v1")
    assert image == "![shot](https://e/raw/v1/docs/shot.png) [a](#b) [c](https://d)"


def test_notes_are_the_section_of_the_version(release: ModuleType) -> None:
    """A version that only begins like it is another one."""
    changelog = (
        "# Changelog\n\n## Unreleased\n\n- a\n\n## 1.0.10\n\n- b\n\n## 1.0.1 - 2026-01-01\n\n### C\n\n- d\n"
    )
    assert release.section(changelog, "1.0.1") == "### C\n\n- d\n"
    assert release.section(changelog, "1.0.10") == "- b\n"
    assert release.section(changelog, "1.0") is None


@pytest.mark.requirement("UPG-06.1")
def test_the_wheel_that_is_kept_has_no_large_files(tmp_path: Path) -> None:
    """The same wheel makes the same file, whose digest is in the list."""
    wheel = tmp_path / "commonplace-1.2.3-py3-none-any.whl"
    names = (
        "commonplace/judge/network.safetensors",
        "commonplace/cli/main.py",
        "commonplace-1.2.3.dist-info/RECORD",
    )
    with zipfile.ZipFile(wheel, "w") as archive:
        for each in names:
            archive.writestr(each, f"content of {each}")
    keep = script("keep_release").keep
    copies = [keep(wheel, tmp_path / str(number)).read_bytes() for number in range(2)]
    assert copies[0] == copies[1]
    with zipfile.ZipFile(tmp_path / "0" / wheel.name) as archive:
        assert {each: archive.read(each).decode() for each in archive.namelist()} == {
            each: f"content of {each}" for each in names[1:]
        }
    assert (tmp_path / "0" / "SHA256SUMS").read_text().endswith(f"  {wheel.name}\n")


def test_archives_have_what_they_need_and_no_more(release: ModuleType) -> None:
    """Caches and environments never belong in them."""
    names = [
        "commonplace/__init__.py",
        "commonplace/__pycache__/a.pyc",
        "commonplace/py.typed",
        ".venv/bin/python",
    ]
    faults = release.faults_in(names, ["commonplace/py.typed", "LICENSE"])
    assert faults == [
        "LICENSE is missing",
        ".venv/bin/python must not be in it",
        "commonplace/__pycache__/a.pyc must not be in it",
    ]


def test_licences_of_dependencies(release: ModuleType) -> None:
    """Unknown and strong copyleft licences are faults; weak ones and a choice are not."""
    found = {
        "none": [],
        "gpl": [{"license": {"id": "GPL-3.0-only"}}],
        "agpl": [{"license": {"name": "GNU Affero General Public License v3"}}],
        "lgpl": [{"license": {"id": "LGPL-3.0-only"}}],
        "choice": [{"license": {"id": "GPL-2.0-only"}}, {"license": {"id": "MIT"}}],
        "mit": [{"expression": "MIT"}],
    }
    sbom = {"components": [{"name": name, "licenses": each} for name, each in found.items()]}
    assert [fault.partition(":")[0] for fault in release.licence_faults(sbom)] == ["none", "gpl", "agpl"]


@pytest.mark.parametrize(("needs", "faults"), [("", 0), ("Requires-Dist: not-a-package\n", 1)])
def test_dependencies_without_a_wheel_are_faults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, needs: str, faults: int
) -> None:
    """The fault names platform and version of Python; pip is asked without its index."""
    platforms = script("platforms")
    monkeypatch.setattr(platforms, "PYTHONS", ("3.14",))
    monkeypatch.setattr(platforms, "PLATFORMS", {"macOS 14, arm64": platforms.PLATFORMS["macOS 14, arm64"]})
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    wheel = tmp_path / "tried-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(
            "tried-1.0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: tried\nVersion: 1.0\n{needs}"
        )
        archive.writestr(
            "tried-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr("tried-1.0.dist-info/RECORD", "")
    found = list(platforms.unresolved(wheel))
    assert len(found) == faults
    assert all(fault.startswith("macOS 14, arm64, Python 3.14: ERROR") for fault in found)
