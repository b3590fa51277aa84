"""What cannot be collected where an extra is missing, and examples that are the same in every run."""

from importlib.util import find_spec

from hypothesis import settings

collect_ignore = [] if find_spec("sklearn") else ["src/folkmoot/sklearn.py"]
settings.register_profile("steady", derandomize=True, deadline=None, max_examples=150)
settings.load_profile("steady")
