#!/usr/bin/env python3
"""The files of a release: the sources as an archive with its checksum, recipes of Conan and vcpkg that point at it, and
the list of its parts (SBOM, CycloneDX 1.5).

    python3 packaging/release.py FOLDER --url ADDRESS

ADDRESS is where the archive will be, with {version} in it. The sources are those of the commit that is checked out; two
runs write the same bytes. Stops if something is not committed, if the version is not the same in all places, or if
CHANGELOG.md still calls it unreleased.
"""
import argparse
import gzip
import hashlib
import json
import os
import re
import subprocess
import sys
import uuid

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VERSIONS = {  # each file that has the version, and how
    "include/tenon/core/config.hpp": r'define TENON_VERSION "([^"]+)"',
    "meson.build": r"version: '([^']+)'",
    "packaging/vcpkg/tenon/vcpkg.json": r'"version": "([^"]+)"',
    "CHANGELOG.md": r"^## (\S+) \(",
}


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def git(*words, text=True):
    done = subprocess.run(["git", "-C", ROOT, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=text)
    if done.returncode:
        sys.exit(f"git {' '.join(words)} failed:\n{done.stderr}")
    return done.stdout


def version_of_all():
    found = {}
    for path, pattern in VERSIONS.items():
        match = re.search(pattern, read(path), flags=re.M)
        found[path] = match[1] if match else "none"
    if len(set(found.values())) > 1:
        sys.exit("The version differs: " + ", ".join(f"{path} has {version}" for path, version in found.items()) + ".")
    return next(iter(found.values()))


def check(version):
    changed = git("status", "--porcelain")
    if changed:
        sys.exit(f"Commit first what is changed:\n{changed}")
    heading = re.search(r"^## " + re.escape(version) + r" \((.*)\)", read("CHANGELOG.md"), flags=re.M)
    if not heading or heading[1] == "unreleased":
        sys.exit(f"CHANGELOG.md says that {version} is unreleased: write the date into its heading.")


def archive(version):
    tar = git("archive", "--format=tar", f"--prefix=tenon-{version}/", "HEAD", text=False)
    return gzip.compress(tar, mtime=0)


def parts(version, checksum, date):
    """The SBOM: Tenon, and as optional each library of a feature of vcpkg's recipe."""
    reference = f"pkg:generic/tenon@{version}"
    libraries = {}
    for name, feature in json.loads(read("packaging/vcpkg/tenon/vcpkg.json"))["features"].items():
        for library in feature.get("dependencies", []):
            library = library if isinstance(library, str) else library["name"]
            libraries.setdefault(library, []).append(name)
    components = [
        {
            "type": "library",
            "bom-ref": f"pkg:generic/{library}",
            "name": library,
            "scope": "optional",
            "description": f"for the component {', '.join(features)}; not contained in the archive",
        }
        for library, features in sorted(libraries.items())
    ]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, reference + checksum)}",
        "version": 1,
        "metadata": {
            "timestamp": f"{date}T00:00:00Z",
            "component": {
                "type": "library",
                "bom-ref": reference,
                "name": "tenon",
                "version": version,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
                "hashes": [{"alg": "SHA-256", "content": checksum}],
            },
        },
        "components": components,
        "dependencies": [{"ref": reference, "dependsOn": [component["bom-ref"] for component in components]}],
    }


def conan_data(version, url, checksum):
    return f'sources:\n  "{version}":\n    url: "{url}"\n    sha256: "{checksum}"\n'


def vcpkg_source(url, data):
    """What vcpkg's portfile has in place of the checkout."""
    return (
        "vcpkg_download_distfile(archive\n"
        f'  URLS "{url}"\n'
        f'  FILENAME "{os.path.basename(url)}"\n'
        f"  SHA512 {hashlib.sha512(data).hexdigest()})\n"
        'vcpkg_extract_source_archive(source ARCHIVE "${archive}")\n'
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--url", required=True)
    options = parser.parse_args()
    version = version_of_all()
    check(version)
    date = git("show", "-s", "--format=%cs", "HEAD").strip()
    url = options.url.replace("{version}", version)
    data = archive(version)
    checksum = hashlib.sha256(data).hexdigest()
    name = f"tenon-{version}.tar.gz"
    files = {
        name: data,
        f"{name}.sha256": f"{checksum}  {name}\n".encode(),
        f"tenon-{version}.cdx.json": (json.dumps(parts(version, checksum, date), indent=2) + "\n").encode(),
        "conandata.yml": conan_data(version, url, checksum).encode(),
        "portfile-source.cmake": vcpkg_source(url, data).encode(),
    }
    os.makedirs(options.folder, exist_ok=True)
    for file, content in files.items():
        with open(os.path.join(options.folder, file), "wb") as out:
            out.write(content)
        print(os.path.join(options.folder, file))


if __name__ == "__main__":
    main()
