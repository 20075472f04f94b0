"""The bill of materials of a release: SPDX 2.3, what is installed, file by file. Needs spdx-tools, from PyPI.

usage: packaging/sbom.py write FILE     writes it, as JSON: the same bytes for the same commit
       packaging/sbom.py check FILE     says what in it is not so: by SPDX's own rules, and compared with this tree
"""

import datetime
import glob
import hashlib
import os
import re
import subprocess
import sys

from license_expression import get_spdx_licensing
from spdx_tools.spdx.model import (Actor, ActorType, Checksum, ChecksumAlgorithm, CreationInfo, Document, File, FileType,
                                   Package, PackagePurpose, Relationship, RelationshipType, SpdxNoAssertion, SpdxNone)
from spdx_tools.spdx.parser.parse_anything import parse_file
from spdx_tools.spdx.spdx_element_utils import calculate_package_verification_code
from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document
from spdx_tools.spdx.writer.write_anything import write_file

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PATTERNS = ("*.h", "allocator/**/*.h", "policies/**/*.h", "LICENSE")
AUTHORS = Actor(ActorType.ORGANIZATION, "the tarn authors")


def parts(root=ROOT):
    """What is installed, as paths from the root."""
    return sorted({path for pattern in PATTERNS for path in glob.glob(pattern, root_dir=root, recursive=True)})


def sums(path):
    with open(path, "rb") as file:
        data = file.read()
    return [Checksum(ChecksumAlgorithm.SHA1, hashlib.sha1(data).hexdigest()),
            Checksum(ChecksumAlgorithm.SHA256, hashlib.sha256(data).hexdigest())]


def version(root=ROOT):
    with open(os.path.join(root, "CMakeLists.txt"), encoding="utf-8") as file:
        return re.search(r"project\(tarn VERSION ([\d.]+)", file.read())[1]


def when():
    """The time of the commit, or SOURCE_DATE_EPOCH."""
    seconds = os.environ.get("SOURCE_DATE_EPOCH") or subprocess.run(
        ["git", "-C", ROOT, "log", "-1", "--format=%ct"], check=True, stdout=subprocess.PIPE, text=True).stdout
    return datetime.datetime.fromtimestamp(int(seconds), datetime.timezone.utc).replace(tzinfo=None)


def document(root=ROOT):
    mit = get_spdx_licensing().parse("MIT")
    files = []
    for number, path in enumerate(parts(root), 1):
        kind = FileType.SOURCE if path.endswith(".h") else FileType.TEXT
        files.append(File(f"./{path}", f"SPDXRef-File-{number}", sums(os.path.join(root, path)), [kind],
                          license_concluded=mit, license_info_in_file=[SpdxNoAssertion()], copyright_text=SpdxNoAssertion()))
    package = Package(
        "SPDXRef-tarn", "tarn", SpdxNoAssertion(), version=version(root), supplier=AUTHORS, files_analyzed=True,
        verification_code=calculate_package_verification_code(files), license_concluded=mit, license_declared=mit,
        license_info_from_files=[SpdxNoAssertion()], copyright_text="Copyright (c) 2026 the tarn authors",
        summary="Memory pools composed from policies: headers for C++20", primary_package_purpose=PackagePurpose.LIBRARY)
    relations = [Relationship("SPDXRef-DOCUMENT", RelationshipType.DESCRIBES, package.spdx_id),
                 Relationship(package.spdx_id, RelationshipType.DEPENDS_ON, SpdxNone())]
    relations += [Relationship(package.spdx_id, RelationshipType.CONTAINS, one.spdx_id) for one in files]
    # No site holds it: an identifier, made of what it describes.
    space = f"urn:tarn:{package.version}:{package.verification_code.value}"
    info = CreationInfo("SPDX-2.3", "SPDXRef-DOCUMENT", f"tarn-{package.version}", space, [AUTHORS], when(),
                        data_license="CC0-1.0")
    return Document(info, packages=[package], files=files, relationships=relations)


def check(path, root=ROOT):
    """What is wrong, in sentences."""
    found = parse_file(path)
    wrong = [f"SPDX: {one.validation_message}" for one in validate_full_spdx_document(found)]
    package = found.packages[0]
    if package.version != version(root):
        wrong.append(f"it is of version {package.version}, the tree of {version(root)}")
    if str(package.license_declared) != "MIT":
        wrong.append(f"licence {package.license_declared}, not MIT")
    listed = {one.name.removeprefix("./"): one.checksums for one in found.files}
    wrong += [f"{name}: not both installed and listed" for name in sorted(listed.keys() ^ set(parts(root)))]
    for name in sorted(listed.keys() & set(parts(root))):
        actual = {(one.algorithm, one.value) for one in sums(os.path.join(root, name))}
        if {(one.algorithm, one.value) for one in listed[name]} != actual:
            wrong.append(f"{name}: its checksum is another")
    if package.verification_code.value != calculate_package_verification_code(found.files).value:
        wrong.append("the verification code isn't that of the files")
    return wrong


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("write", "check"):
        print(__doc__, file=sys.stderr)
        return 2
    if sys.argv[1] == "write":
        write_file(document(), sys.argv[2])
    wrong = check(sys.argv[2])
    print("\n".join(wrong) or "valid, and as the tree is")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
