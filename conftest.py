"""What cannot be collected where an extra is missing."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("sklearn") else ["src/folkmoot/sklearn.py"]
