"""What stands before the memories: hosts, origins, forgery, sizes, slowness, rates; and what is never said."""

import asyncio
import logging
import re
from collections.abc import AsyncIterator
from http.cookies import SimpleCookie

import httpx2
import pytest

from commonplace.core.errors import InvalidInputError
from commonplace.core.settings import Settings
from commonplace.web.http.authentication import COOKIE
from commonplace.web.http.login import own_page
from commonplace.web.http.security import RateLimits, SecurityOptions
from support.deadlines import DEADLINE_S
from support.secured import Secured, secured
from support.service import open_memories, serving

FEW = RateLimits(per_token="20/minute", per_address="15/minute", failures_per_address="3/minute")


@pytest.fixture
async def service(settings: Settings) -> AsyncIterator[Secured]:
    """A service that asks for tokens, reached as memory.example behind a proxy on loopback."""
    options = SecurityOptions(
        login_required=True, allowed_hosts=("memory.example",), trusted_proxies=("127.0.0.1",)
    )
    async with secured(settings, security=options) as service:
        yield service


@pytest.fixture
async def open_url(settings: Settings) -> AsyncIterator[str]:
    """A service on loopback without a login."""
    async with open_memories(settings) as memories, serving(memories) as url:
        yield url


def problem(answer: httpx2.Response) -> tuple[int, str]:
    """Return status and kind of a problem."""
    return answer.status_code, answer.json()["type"].removeprefix("/docs#")


async def log_in(client: httpx2.AsyncClient, token: str, **form: str) -> httpx2.Response:
    """Send the form of the login page."""
    return await client.post("/login", data={"token": token, **form})


async def csrf_token(client: httpx2.AsyncClient) -> str:
    """Return the proof that the dashboard's pages carry."""
    page = (await client.get("/memories/new", headers={"accept": "text/html"})).text
    found = re.search(r'name="csrf_token" value="([0-9a-f]{64})"', page)
    assert found, page
    return found[1]


async def test_a_login_in_place_of_a_token(service: Secured) -> None:
    """The cookie is for this site alone and no script's; logging out ends it for good."""
    async with service.client(accept="text/html") as browser:
        led = await browser.get("/memories?sort=recency")
        assert (led.status_code, led.headers["location"]) == (303, "/login?next=%2Fmemories%3Fsort%3Drecency")
        page = await browser.get(led.headers["location"])
        assert page.status_code == 200
        assert 'name="next" value="/memories?sort=recency"' in page.text
        wrong = await log_in(browser, "cpl_wrong")
        assert wrong.status_code == 401
        assert "unknown, expired or revoked" in wrong.text
        right = await log_in(browser, service.issued["writer"].secret, next="/memories?sort=recency")
        assert (right.status_code, right.headers["location"]) == (303, "/memories?sort=recency")
        cookie = SimpleCookie(right.headers["set-cookie"])[COOKIE]
        assert cookie["httponly"]
        assert cookie["samesite"] == "strict"
        assert not cookie["secure"]
        assert service.issued["writer"].secret not in right.headers["set-cookie"]
        assert (await browser.get("/memories")).status_code == 200
        assert (await browser.get("/login?next=//evil.example")).headers["location"] == "/"
        out = await browser.post("/logout", data={"csrf_token": await csrf_token(browser)})
        assert out.headers["location"] == "/login"
        again = await browser.get("/memories", headers={"cookie": f"{COOKIE}={cookie.value}"})
        assert again.status_code == 303


@pytest.mark.parametrize(
    "foreign",
    [
        'prefs={"theme":"dark"}',
        "x=a b",
        "a@b=1",
        "foo",
        "=",
        "ä=ö",
        'q="; open',
        "a[b]=c, d",
        "commonplace_logi=x",
    ],
)
async def test_cookies_of_other_programs_lock_nobody_out(service: Secured, foreign: str) -> None:
    """Ports of one host share their cookies, and not every program writes them by the book."""
    async with service.client(accept="text/html") as browser:
        login = await log_in(browser, service.issued["reader"].secret)
        own = login.headers["set-cookie"].partition(";")[0]
        browser.cookies.clear()
        for cookies in (f"{foreign}; {own}", f"{own}; {foreign}", f"a=b; {foreign}; {own}; c=d"):
            page = await browser.get("/memories", headers=[(b"cookie", cookies.encode())])
            assert page.status_code == 200, cookies


async def test_two_tabs_at_the_login(service: Secured) -> None:
    """Logging in at the second one works too, and ends the login of the first; not for another site, though."""
    async with service.client(accept="text/html", origin=service.url) as browser:
        first = await log_in(browser, service.issued["reader"].secret)
        second = await log_in(browser, service.issued["writer"].secret, next="/memories")
        assert (second.status_code, second.headers["location"]) == (303, "/memories")
        assert (await browser.get("/memories/new")).status_code == 200
        forged = await browser.post("/login", data={"token": "x"}, headers={"origin": "https://evil.example"})
        assert forged.status_code == 403
        browser.cookies.clear()
        cookie = first.headers["set-cookie"].partition(";")[0]
        assert (await browser.get("/memories", headers={"cookie": cookie})).status_code == 303


async def test_a_form_that_outlasts_its_login_leads_to_the_login(service: Secured) -> None:
    """And from there back to the page that it stood on; programs are told 401."""
    async with service.client(accept="text/html", origin=service.url) as browser:
        sent = {"observation": "Takes 90s"}
        page = {"referer": f"{service.url}/memories/1?a=b"}
        led = await browser.post("/memories/1", data=sent, headers=page)
        assert (led.status_code, led.headers["location"]) == (303, "/login?next=%2Fmemories%2F1%3Fa%3Db")
        assert (await browser.post("/logout", data=sent)).headers["location"] == "/login?next=%2F"
        api = await browser.post("/api/v1/operational/decay", data=sent)
        assert problem(api) == (401, "unauthenticated")


async def test_a_long_link_leads_to_the_login_and_back(service: Secured) -> None:
    """One with a search in another alphabet among them; what is too long for any page begins at the front page."""
    search = f"/memories?search={'%C3%A9' * 200}"
    async with service.client(accept="text/html") as browser:
        page = await browser.get(search, follow_redirects=True)
        assert page.status_code == 200
        assert search in page.text
        right = await log_in(browser, service.issued["reader"].secret, next=search)
        assert right.headers["location"] == search
        assert (await log_in(browser, "cpl_" + "x" * 5_000)).status_code == 401


@pytest.mark.parametrize("header", ["origin", "referer", "hx-current-url"])
async def test_a_header_that_is_no_url_is_no_fault(service: Secured, header: str) -> None:
    """Whoever sends it, with a token or without."""
    for who in (None, "writer"):
        async with service.client(who, accept="text/html", **{header: "http://["}) as client:
            for method in ("GET", "POST"):
                answer = await client.request(method, "/memories", data={"observation": "Takes 60s"})
                assert answer.status_code < 500


async def test_a_stale_form_is_refused_by_a_page(service: Secured) -> None:
    """What no page of the dashboard answers is words too, with a way back."""
    async with service.client(accept="text/html", origin=service.url) as browser:
        await log_in(browser, service.issued["reader"].secret)
        stale = await browser.post("/logout", data={"csrf_token": "0" * 64})
        foreign = await browser.post("/logout", headers={"origin": "https://evil.example"})
        for refused in (stale, foreign):
            assert refused.status_code == 403
            assert refused.headers["content-type"].startswith("text/html")
            assert '<a href="/">' in refused.text


async def test_a_proxy_that_nobody_named_is_explained_in_the_browser(open_url: str) -> None:
    """The login does not lead to itself for ever, and says what is missing."""
    headers = {"accept": "text/html", "x-forwarded-for": "203.0.113.9"}
    async with httpx2.AsyncClient(base_url=open_url, headers=headers, timeout=DEADLINE_S) as browser:
        led = await browser.get("/memories")
        page = await browser.get(led.headers["location"])
    assert page.status_code == 401
    assert "--trusted-proxy" in page.text


async def test_behind_a_proxy_the_cookie_is_for_https(service: Secured) -> None:
    """Where the proxy says that the browser speaks https, the cookie goes nowhere else."""
    async with service.client(**{"x-forwarded-proto": "https", "x-forwarded-for": "203.0.113.9"}) as browser:
        right = await log_in(browser, service.issued["reader"].secret)
        assert SimpleCookie(right.headers["set-cookie"])[COOKIE]["secure"]
        assert "max-age" in right.headers["strict-transport-security"]


async def test_revoking_a_token_counts_from_the_next_request(service: Secured) -> None:
    """For the token, and for the login that was made with it."""
    async with service.client("writer") as program, service.client() as browser:
        await log_in(browser, service.issued["writer"].secret)
        for client in (program, browser):
            assert (await client.get("/api/v1/apps")).status_code == 200
        await service.tokens.revoke(service.issued["writer"].token.id)
        for client in (program, browser):
            assert problem(await client.get("/api/v1/apps")) == (401, "unauthenticated")


async def test_a_login_is_not_enough_for_mcp(service: Secured) -> None:
    """A browser sends its cookie by itself; programs bring a token."""
    async with service.client() as browser:
        await log_in(browser, service.issued["admin"].secret)
        assert problem(await browser.post("/mcp/knowledge/", json={})) == (401, "unauthenticated")


@pytest.mark.requirement("APP-10.5")
async def test_a_wrong_token_is_refused_where_none_is_needed(open_url: str) -> None:
    """It is somebody's mistake, and nobody should find out later that it never counted."""
    async with httpx2.AsyncClient(base_url=open_url, timeout=DEADLINE_S) as client:
        for header in ("Bearer cpl_wrong", "Bearer", "Basic YTpi", "cpl_wrong"):
            answer = await client.get("/api/v1/apps", headers={"authorization": header})
            assert problem(answer) == (401, "unauthenticated")
            assert 'error="invalid_token"' in answer.headers["www-authenticate"]


@pytest.mark.requirement("APP-10.5")
async def test_a_proxy_on_this_machine_opens_nothing(open_url: str) -> None:
    """Everybody who comes through it would look like the operator."""
    async with httpx2.AsyncClient(base_url=open_url, timeout=DEADLINE_S) as client:
        for name in ("x-forwarded-for", "forwarded", "via", "x-real-ip"):
            answer = await client.get("/api/v1/apps", headers={name: "203.0.113.9"})
            assert problem(answer) == (401, "unauthenticated")
            assert "--trusted-proxy" in answer.json()["detail"]


async def test_only_known_hosts_are_served(service: Secured) -> None:
    """Loopback, allowed names and addresses in digits; any other name may be a page that rebound its own."""
    async with service.client("reader") as client:
        for host in ("memory.example", "MEMORY.example:8420", "localhost", "10.1.2.3:80", "[2001:db8::1]:80"):
            assert (await client.get("/api/v1/apps", headers={"host": host})).status_code == 200
        for host in (
            "evil.example",
            "memory.example.evil.example",
            "",
            "1.2.3.4.evil.example",
            "x@memory.example",
        ):
            for path in ("/api/v1/apps", "/login", "/mcp/knowledge/", "/healthz", "/static/app.css"):
                assert problem(await client.get(path, headers={"host": host})) == (421, "foreign-host")


@pytest.mark.parametrize(
    "host",
    [
        "memory.example:8420",
        "https://m2.example",
        "m2.example/path",
        "*.example",
        "",
        "a b",
        "-a",
        "a..b",
        "ü.example",
    ],
)
def test_a_host_that_could_never_match_is_refused(host: str) -> None:
    """An option that does nothing is a fault that shows much later."""
    with pytest.raises(InvalidInputError, match="allowed_host: expected a name without scheme"):
        SecurityOptions(login_required=True, allowed_hosts=("memory.example", host))


@pytest.mark.parametrize("proxy", ["notanip", "", "10.0.0.2:80", "10.0.0.1/8", "*", "proxy.example"])
def test_a_proxy_that_could_never_match_is_refused(proxy: str) -> None:
    """Addresses and networks are compared, names are not."""
    with pytest.raises(InvalidInputError, match="trusted_proxy: expected an address or a network"):
        SecurityOptions(login_required=True, trusted_proxies=("10.0.0.2", proxy))


def test_hosts_and_proxies_that_can_match() -> None:
    """Names of one label and more, in any case; addresses and networks of both kinds."""
    options = SecurityOptions(
        login_required=True,
        allowed_hosts=("memory", "Memory.EXAMPLE", "xn--mnchen-3ya.example", "my_nas.lan", "10.0.0.2"),
        trusted_proxies=("10.0.0.2", "10.0.0.0/24", "::1", "fd00::/8"),
    )
    assert options.allows_host("memory.example")


async def test_no_other_site_changes_anything(service: Secured, open_url: str) -> None:
    """A browser says where a request comes from; for MCP reading is refused too."""
    foreign = (
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    )
    async with (
        service.client("admin") as secure,
        httpx2.AsyncClient(base_url=open_url, timeout=DEADLINE_S) as loopback,
    ):
        for client in (secure, loopback):
            for headers in foreign:
                for method, path in (
                    ("DELETE", "/apps/calendar/memories"),
                    ("POST", "/api/v1/operational/decay"),
                    ("POST", "/login"),
                    ("POST", "/mcp/workspace/"),
                    ("GET", "/mcp/workspace/"),
                ):
                    answer = await client.request(method, path, headers=headers)
                    assert problem(answer) == (403, "forged"), (headers, path)
            answer = await client.get("/api/v1/apps", headers=foreign[0])
            assert not [name for name in answer.headers if name.startswith("access-control")]


async def test_a_proxy_that_changes_the_host_is_told_from_the_refusal(service: Secured) -> None:
    """Both names stand in it: the one that the browser knows, and the one that came."""
    async with service.client(accept="text/html", origin="https://memory.example") as browser:
        refused = await log_in(browser, service.issued["admin"].secret)
    assert refused.status_code == 403
    host = service.url.removeprefix("http://")
    assert f"a page of https://memory.example sent the request to {host}" in refused.text


async def test_a_page_proves_that_it_is_ours(service: Secured, open_url: str) -> None:
    """With a login, and on loopback without one: in a form or in a header; one token's proof is not another's."""
    async with (
        service.client() as first,
        service.client() as second,
        httpx2.AsyncClient(base_url=open_url, timeout=DEADLINE_S) as third,
    ):
        another = await service.tokens.create(role="admin")
        for browser, issued in ((first, service.issued["admin"]), (second, another)):
            await log_in(browser, issued.secret)
        proofs = [await csrf_token(browser) for browser in (first, second, third)]
        assert len(set(proofs)) == 3
        for browser, own, other in (
            (first, *proofs[:2]),
            (second, *proofs[1::-1]),
            (third, proofs[2], proofs[0]),
        ):
            browser.headers["sec-fetch-site"] = "same-origin"
            path = "/api/v1/operational/decay"
            for given in ({}, {"x-csrf-token": "0" * 64}, {"x-csrf-token": other}, {"x-csrf-token": "ä"}):
                sent = [(name.encode(), value.encode()) for name, value in given.items()]
                assert problem(await browser.post(path, headers=sent)) == (403, "forged")
            assert (await browser.post(path, headers={"x-csrf-token": own})).status_code == 200
            assert problem(await browser.post(path, data={"csrf_token": other})) == (403, "forged")
            assert (await browser.post(path, data={"csrf_token": own})).status_code == 200


async def test_a_page_outlasts_its_login(service: Secured) -> None:
    """What was begun on it is saved by whoever logs in again with the same token, and by nobody else."""
    async with service.client(**{"sec-fetch-site": "same-origin"}) as browser:
        await log_in(browser, service.issued["admin"].secret)
        page = {"x-csrf-token": await csrf_token(browser)}
        await log_in(browser, service.issued["admin"].secret)
        assert (await browser.post("/api/v1/operational/decay", headers=page)).status_code == 200
        await browser.post("/logout", headers=page)
        await log_in(browser, service.issued["writer"].secret)
        refused = await browser.post("/api/v1/operational/memories", headers=page)
        assert problem(refused) == (403, "forged")


async def test_programs_on_this_machine_need_no_proof(open_url: str) -> None:
    """They are no browsers, which always say where a change comes from."""
    async with httpx2.AsyncClient(base_url=open_url, timeout=DEADLINE_S) as client:
        assert (await client.post("/api/v1/operational/decay")).status_code == 200
        refused = await client.post("/api/v1/operational/decay", data={"a": "b"})
        assert problem(refused) == (403, "forged")
        assert (
            "a program sends JSON with the header Content-Type: application/json" in refused.json()["detail"]
        )


async def test_every_answer_tells_browsers_what_pages_may_do(service: Secured) -> None:
    """Nothing inline and nothing from elsewhere, in no frame, in no cache; also where a guard answers."""
    async with service.client("admin") as client, service.client() as nobody:
        answers = [
            await client.get("/memories"),
            await client.get("/api/v1/apps"),
            await client.get("/nowhere"),
            await client.get("/healthz", headers={"host": "evil.example"}),
            await nobody.get("/login"),
            await nobody.get("/api/v1/apps"),
        ]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'self';")
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert "server" not in answer.headers
    for page in (answers[0], answers[4]):
        assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", page.text)


@pytest.mark.parametrize(
    ("following", "goes_to"),
    [
        ("/memories?a=b", "/memories?a=b"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("https://evil.example", "/"),
        ("javascript:alert(1)", "/"),
        ("/a\r\nset-cookie: x=y", "/"),
        ("http://[", "/"),
        (f"/{'x' * 10_000}", "/"),
        ("memories", "/"),
        ("", "/"),
    ],
)
def test_a_login_leads_nowhere_else(following: str, goes_to: str) -> None:
    """Only to a path of this service."""
    assert own_page(following) == goes_to


async def test_paths_lead_to_nothing_on_the_disk(service: Secured) -> None:
    """However they are written."""
    reader, writer = await asyncio.open_connection("127.0.0.1", httpx2.URL(service.url).port or 80)
    token = service.issued["admin"].secret
    for path in (
        "/static/../service.py",
        "/static/..%2f..%2fservice.py",
        "/static/%2e%2e/%2e%2e/service.py",
        "/static/....//service.py",
        "//etc/passwd",
        "/static//etc/passwd",
        "/static/%00",
    ):
        writer.write(
            f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
        )
        status = (await reader.readline()).split()[1]
        assert status in {b"404", b"401", b"400"}, path
        head = await reader.readuntil(b"\r\n\r\n")
        found = re.search(rb"content-length: (\d+)", head)
        assert found
        body = await reader.readexactly(int(found[1]))
        assert b"root:" not in body
        assert b"import" not in body
    writer.close()
    await writer.wait_closed()


async def test_a_body_that_does_not_come_on_is_given_up(settings: Settings) -> None:
    """It holds no connection for longer than a body may take, nor more memory than it may have."""
    options = SecurityOptions(
        login_required=True, body_piece_timeout_s=0.2, body_timeout_s=0.4, max_body_bytes=1000
    )
    async with secured(settings, security=options) as service:
        reader, writer = await asyncio.open_connection("127.0.0.1", httpx2.URL(service.url).port or 80)
        token = service.issued["writer"].secret
        writer.write(
            f"POST /api/v1/workspace/memories HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
            "Content-Type: application/json\r\nContent-Length: 20\r\n\r\n{".encode()
        )
        async with asyncio.timeout(DEADLINE_S):
            assert (await reader.readline()).split()[1] == b"408"
        writer.close()
        async with service.client("writer") as client:
            large = await client.post("/mcp/knowledge/", json={"text": "x" * 1000})
            assert problem(large) == (413, "too-large")


async def test_too_many_requests_wait(settings: Settings) -> None:
    """A token, an address without one, and an address with wrong ones are counted apart."""
    async with (
        secured(settings, security=SecurityOptions(login_required=True, rate_limits=FEW)) as service,
        service.client("reader") as first,
        service.client("writer") as second,
        service.client() as nobody,
    ):
        answers = [await first.get("/api/v1/apps") for _ in range(25)]
        assert [answer.status_code for answer in answers] == [200] * 20 + [429] * 5
        assert problem(answers[-1]) == (429, "too-many")
        assert 1 <= int(answers[-1].headers["retry-after"]) <= 60
        assert (await second.get("/api/v1/apps")).status_code == 200
        wrong = [await log_in(nobody, "cpl_guess") for _ in range(5)]
        assert [answer.status_code for answer in wrong] == [401] * 3 + [429] * 2
        assert 1 <= int(wrong[-1].headers["retry-after"]) <= 60
        bad = await nobody.get("/api/v1/apps", headers={"authorization": "Bearer cpl_guess"})
        assert problem(bad) == (429, "too-many")
        right = await log_in(nobody, service.issued["admin"].secret)
        assert right.status_code == 303
        nobody.cookies.clear()
        pages = [(await nobody.get("/login")).status_code for _ in range(12)]
        assert set(pages) == {200, 429}


async def test_no_secret_is_in_a_log(service: Secured, caplog: pytest.LogCaptureFixture) -> None:
    """Not of a request that is answered, refused or fails, at any level."""
    caplog.set_level(logging.DEBUG)
    secrets = [issued.secret for issued in service.issued.values()]
    async with service.client() as browser:
        login = await log_in(browser, secrets[0])
        secrets.append(SimpleCookie(login.headers["set-cookie"])[COOKIE].value)
        await browser.get("/api/v1/apps")
        await log_in(browser, "cpl_wrong_but_secret")
    for secret in (*secrets, "cpl_wrong_but_secret"):
        async with httpx2.AsyncClient(base_url=service.url, timeout=DEADLINE_S) as client:
            headers = {"authorization": f"Bearer {secret}"}
            for path in ("/api/v1/apps", "/metrics", "/nowhere", "/api/v1/apps?limit=x"):
                answer = await client.get(path, headers=headers)
                assert secret not in answer.text
            await client.post("/mcp/workspace/", headers=headers, json={})
    said = "\n".join(f"{record.getMessage()} {record.__dict__}" for record in ours(caplog))
    for secret in (*secrets, "cpl_wrong_but_secret"):
        assert secret not in said


def ours(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    """Return what the service logged, without what the test's own client says of itself."""
    return [record for record in caplog.records if not record.name.startswith(("httpx", "httpcore", "hpack"))]
