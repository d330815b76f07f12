"""Learning who belongs to a home: introductions, new keys of the home, and devices that were revoked.

Source: ADR 0040.
"""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import combinations

from commonplace.core.errors import SyncError, SyncFileError, SyncKeyError
from commonplace.services.sync import disputes, introductions
from commonplace.services.sync.carriers.carrier import Carrier
from commonplace.services.sync.device_files import Departure
from commonplace.services.sync.home_keys import (
    HomeKey,
    KeyDocument,
    KeyRing,
    document_name,
    earlier_keys,
    key_of,
    parse_document_name,
    read_document,
    write_document,
)
from commonplace.services.sync.keys import DeviceKey, new_home_key
from commonplace.services.sync.known_devices import KnownDevice
from commonplace.services.sync.state import OutboxFile, SyncState


@dataclass(frozen=True, slots=True)
class Members:
    """The devices and the keys of a home, as the carrier shows them.

    Args:
        state: The state of sync.
        carrier: Moves the files.
        first_key: The key of the home with which this device joined.
        device_key: The key of this device.
    """

    state: SyncState
    carrier: Carrier
    first_key: bytes
    device_key: DeviceKey

    def ring(self) -> KeyRing:
        """Return the keys of the home that this device has."""
        return KeyRing.of(self.first_key, self.state.home_keys())

    def join(self, names: AbstractSet[str]) -> None:
        """Note which key of the home this device joins with, and the keys before it.

        Only here is a document believed because it fits the key: later, a thief who has an old key could pass it off as
        a new one.

        Args:
            names: The names of all files at the carrier.

        Raises:
            SyncKeyError: Other devices joined with an earlier key, and the document of this one has not arrived yet.
        """
        if self.state.home_keys():
            return
        first = HomeKey(key=self.first_key)
        keys = self._keys_of_document(names, first.id)
        if keys:
            self.state.add_home_keys(keys)
            return
        bodies = [
            self.carrier.get(name) or b"" for name in names if name.startswith(f"{introductions.FOLDER}/")
        ]
        if not all(body.startswith(first.id) for body in bodies):
            raise SyncKeyError(
                "this key of the home is an old one, or its document has not arrived yet: sync the device that revoked "
                "another one last, and join with the newest passphrase"
            )
        self.state.add_home_keys([first])

    def _keys_of_document(self, names: AbstractSet[str], key_id: bytes) -> list[HomeKey]:
        """Return the key of an id, with those before it, from the document that brought it."""
        for epoch, author in sorted(filter(None, map(parse_document_name, names)), reverse=True):
            try:
                document = read_document(self._body(epoch, author), epoch, author, public=None)
                if document.key_id == key_id:
                    key = HomeKey(key=self.first_key, epoch=epoch, author=author)
                    return [*earlier_keys(document, key), key]
            except SyncFileError:
                continue  # Only who has the key can write what it opens.
        return []

    def learn(self, names: AbstractSet[str], *, lost: str = "") -> list[str]:
        """Note new keys and new devices; return what is wrong with a document or an introduction.

        If members have revoked each other, their new keys are not noted; see :meth:`require_agreement`.

        Args:
            names: The names of all files at the carrier.
            lost: A device that a person is about to revoke. It is not believed if it has revoked this one, or if
                another one and it have revoked each other.
        """
        problems = self._meet(names)
        faults: list[str] = []
        disputes.forget(self.state, names)
        own, others = self._new_documents(names, faults)
        count = sum(self._apply(each, faults) for each in own)
        count += sum(self._apply(each, faults) for each in self._undisputed(others, lost))
        if count:
            problems = self._meet(names)
        return [*faults, *problems, *self._exposed_key()]

    def require_agreement(self, names: AbstractSet[str]) -> None:
        """Stop if two members have revoked each other, and this device learned of both at once.

        One of them may be in the hands of a thief, who can write whatever the other one can, so only a person knows.

        Args:
            names: The names of all files at the carrier.

        Raises:
            SyncError: A person must say which one is lost.
        """
        _, documents = self._new_documents(names, [])
        if dispute := self._dispute(documents):
            raise SyncError(disputes.question(*(self._name(each.author) for each in dispute)))

    def _new_documents(
        self, names: AbstractSet[str], problems: list[str]
    ) -> tuple[list[KeyDocument], list[KeyDocument]]:
        """Return the good documents of new keys: those of keys that this device has, newest first, and others by rank.

        It has a key before its document from the passphrase with which it joined, which no thief knows. The newest of
        these documents names all devices that were revoked until then.
        """
        known = {each.rank for each in self.state.home_keys() if each.recipients is not None}
        devices = {each.device: each for each in self.state.devices()}
        documents: list[KeyDocument] = []
        for epoch, author in sorted({*filter(None, map(parse_document_name, names))} - known):
            if author not in devices:
                problems.append(f"{author} made a new key of the home, but has not introduced itself")
                continue
            try:
                body = self._body(epoch, author)
                documents.append(read_document(body, epoch, author, devices[author].public))
            except SyncFileError as error:
                if devices[author].departure is not Departure.REVOKED:
                    problems.append(str(error))
        keys = {(each.rank, each.id) for each in self.ring().keys}
        own = [each for each in documents if (each.rank, each.key_id) in keys]
        return own[::-1], [each for each in documents if each not in own]

    def _undisputed(self, documents: Iterable[KeyDocument], lost: str) -> list[KeyDocument]:
        """Return the documents that can be believed; none if there is a dispute without the lost device."""
        own = self.device_key.device
        possible = [each for each in documents if each.author != lost or each.admits(own)]
        for each in (possible, [document for document in possible if document.author != lost]):
            if self._dispute(each) is None:
                return each
        return []

    def _dispute(self, documents: Iterable[KeyDocument]) -> tuple[KeyDocument, KeyDocument] | None:
        """Return two documents of members that oppose each other."""
        members = {each.device for each in self.state.devices() if each.is_member}
        rivals = [each for each in documents if each.author in members]
        return next((pair for pair in combinations(rivals, 2) if pair[0].opposes(pair[1])), None)

    def _exposed_key(self) -> list[str]:
        """Return the problem that a device has the newest key though another one has revoked it meanwhile."""
        recipients = self.ring().current.recipients or frozenset()
        return [
            f"{each.name} was revoked, but has the newest key of the home: revoke it once more"
            for each in self.state.devices()
            if each.departure is Departure.REVOKED and each.device in recipients
        ]

    def _apply(self, document: KeyDocument, problems: list[str]) -> bool:
        """Take a new key, and note which devices must not have it; return whether the document was good."""
        member = self.state.device(document.author)
        if member is None or member.departure is Departure.REVOKED:
            problems += self._opposition(document)
            return False
        try:
            key = key_of(document, self.ring(), self.device_key)
            before = earlier_keys(document, key) if key else []
        except SyncFileError as error:
            problems.append(str(error))
            return False
        if key is None:
            self.state.add_home_keys([], revoked=[self.device_key.device])
            return False
        ring = KeyRing.of(self.first_key, [*self.state.home_keys(), *before, key])
        self.state.add_home_keys([*before, key], revoked=self._refused(document, ring))
        return True

    def _opposition(self, document: KeyDocument) -> list[str]:
        """Return that a revoked device has revoked members of the home, the first time that this is seen."""
        later = {each.id for each in self.ring().keys if each.rank >= document.rank}
        members = [
            "this device" if each.device == self.device_key.device else each.name
            for each in self.state.devices()
            if each.is_member and each.key_id not in later and not document.admits(each.device)
        ]
        if not members:
            return []
        return disputes.note(self.state, document.name, self._name(document.author), members)

    def _name(self, device: str) -> str:
        known = self.state.device(device)
        return known.name if known else device

    def _refused(self, document: KeyDocument, ring: KeyRing) -> set[str]:
        """Return the devices that were revoked, and those that joined with an old key unknown to the revoking one."""
        late = {each.device for each in self.state.devices() if not ring.admits(each.device, each.key_id)}
        return {*document.revoked, *late} - {self.device_key.device}

    def _meet(self, names: AbstractSet[str]) -> list[str]:
        """Note the devices that have introduced themselves; return what is wrong with an introduction."""
        known = {each.device for each in self.state.devices()}
        ring = self.ring()
        problems: list[str] = []
        for name in sorted(names):
            folder, _, device = name.partition("/")
            if folder != introductions.FOLDER or device in known:
                continue
            try:
                self._add(introductions.read_introduction(device, self.carrier.get(name) or b"", ring), ring)
            except SyncFileError as error:
                problems.append(str(error))
        return problems

    def _add(self, device: KnownDevice, ring: KeyRing) -> None:
        is_admitted = ring.admits(device.device, device.key_id)
        self.state.add_device(device if is_admitted else replace(device, departure=Departure.REVOKED))
        if not is_admitted:
            raise SyncKeyError(
                f"{device.name} joined with a key of the home that is no longer valid; it must join again"
            )

    def revoke(self, device: str) -> None:
        """Make a new key of the home, for all members but one."""
        own, ring = self.device_key.device, self.ring()
        members = {each.device: each for each in self.state.devices() if each.is_member}
        recipients = {each.device: each.exchange for each in members.values() if each.device != device}
        key = HomeKey(
            key=new_home_key(),
            epoch=ring.current.epoch + 1,
            author=own,
            recipients=frozenset(recipients),
        )
        revoked = {device, *self._revoked(self.state.devices())}
        body = write_document(key, ring.keys, recipients, revoked, self.device_key)
        document = OutboxFile(None, document_name(key), body)
        self.state.add_home_keys([*ring.keys, key], revoked=revoked, document=document)

    def _revoked(self, devices: Iterable[KnownDevice]) -> set[str]:
        return {each.device for each in devices if each.departure is Departure.REVOKED}

    def _body(self, epoch: int, author: str) -> bytes:
        return self.carrier.get(document_name(HomeKey(key=b"", epoch=epoch, author=author))) or b""
