"""link_headers.py CHECKOUT LINK: makes LINK a link to the checkout, or, where links aren't allowed, a copy of its headers.

meson.build calls it when it configures, so that headers are found as "tarn/...".
"""

import glob
import os
import shutil
import sys


def main():
    checkout, link = sys.argv[1:]
    os.makedirs(os.path.dirname(link), exist_ok=True)
    if os.path.islink(link):
        os.unlink(link)
    try:
        os.symlink(checkout, link, target_is_directory=True)
    except OSError:  # Windows, for who isn't a developer
        for pattern in ("*.h", "allocator/**/*.h", "policies/**/*.h"):
            for header in glob.glob(pattern, root_dir=checkout, recursive=True):
                os.makedirs(os.path.dirname(os.path.join(link, header)), exist_ok=True)
                shutil.copy(os.path.join(checkout, header), os.path.join(link, header))


if __name__ == "__main__":
    main()
