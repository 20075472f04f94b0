def script(tree):
    return ""
