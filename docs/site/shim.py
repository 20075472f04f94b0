"""What lets the theme's search run in a page that was opened without a server: npm's package iframe-worker, which the theme
would load from a web site."""

import base64
import hashlib
import io
import os
import tarfile
import urllib.request

URL = "https://registry.npmjs.org/iframe-worker/-/iframe-worker-1.0.4.tgz"
SHA512 = "roeaaI+Lg1LJNfgpCjoRe/+WzEjy9+Z08LoEvu85MCPbBjwm+qXz8Ag5U05lHa6V1CysZyGzE0SOkAtSUA5q7Q=="
LOADED_FROM = "https://unpkg.com/iframe-worker/shim"


def script(cache):
    """The script's text; from `cache`, where it was fetched before."""
    if not os.path.exists(cache):
        print("fetching from npm: iframe-worker 1.0.4", flush=True)
        with urllib.request.urlopen(URL, timeout=120) as answer:
            package = answer.read()
        if base64.b64encode(hashlib.sha512(package).digest()).decode() != SHA512:
            raise SystemExit(f"docs/site/run: {URL} isn't the package that was there before")
        with tarfile.open(fileobj=io.BytesIO(package)) as files:
            text = files.extractfile("package/shim/index.js").read()
        with open(cache, "wb") as file:
            file.write(text)
    with open(cache, encoding="utf-8") as file:
        return file.read()
