"""Files of the shapes that people bring, generated: what a tool does to them can then be measured anywhere."""

from pathlib import Path
from typing import Any

import numpy as np
import polars
from numpy.typing import NDArray

HOSPITALS = 24
DIAGNOSES = 748  # codes; a few are in every tenth row, most in one row of thousands
DRUGS = 23
LANGUAGES, SPOKEN = ("en", "de", "es", "fr", "it", "nl", "pt"), (0.80, 0.08, 0.05, 0.03, 0.02, 0.01, 0.01)
TASTES = 40


def write_hospital_table(path: Path, rows: int = 101_766, seed: int = 0) -> Path:
    """Hospital stays as registers export them: 51 columns, two of them ids, three with hundreds of codes, codes that
    are written as numbers, columns that are nearly always missing (marked "?") or nearly always the same. Whether a
    patient comes back depends on earlier stays, on where they went afterwards, and a little on the diagnosis.
    """
    rng = np.random.default_rng(seed)

    def draw(values: list[str], share: list[float]) -> NDArray[np.str_]:
        chances = np.array(share) / sum(share)
        return np.array(values)[rng.choice(len(values), rows, p=chances)]

    def draw_rare(count: int, power: float) -> NDArray[np.int64]:
        """Numbers below `count`, of which the n-th occurs about n^-power times as often as the first."""
        chances = np.arange(1.0, count + 1) ** -power
        return rng.choice(count, rows, p=chances / chances.sum())

    frail = rng.gamma(2.0, 0.5, rows)  # how ill somebody is: what the columns have in common
    earlier = rng.poisson(0.65 * frail)
    leaving = np.minimum(draw_rare(26, 1.8) + (rng.random(rows) < 0.1 * frail), 25)
    codes = [draw_rare(DIAGNOSES, 1.05) for _ in range(3)]
    risk = -1.1 + 0.45 * np.minimum(earlier, 5) + 0.25 * (codes[0] % 7 == 1) - 2.5 * (leaving == 10) + 0.15 * frail
    back = rng.random(rows) < 1 / (1 + np.exp(-risk))
    soon = rng.random(rows) < 0.12 + 0.06 * np.minimum(frail, 3)
    patients = rng.integers(0, rows * 9 // 8, rows)
    ages = np.clip(rng.normal(6.6 + 0.3 * frail, 1.5, rows), 0, 9).astype(int)
    columns: dict[str, object] = {
        "encounter_id": 12_522 + 4_357 * rng.permutation(rows),
        "patient_nbr": 135 + 1_867 * patients,
        "hospital": [f"H{one + 1:02}" for one in draw_rare(HOSPITALS, 0.6)],
        "race": draw(["Caucasian", "AfricanAmerican", "?", "Hispanic", "Other", "Asian"], [75, 19, 2, 2, 1.5, 0.6]),
        "gender": draw(["Female", "Male", "Unknown"], [53.8, 46.2, 0.003]),
        "age": [f"[{10 * one}-{10 * one + 10})" for one in ages],
        "weight": np.where(rng.random(rows) < 0.97, "?", [f"[{25 * (one % 9)}-{25 * (one % 9) + 25})" for one in ages]),
        "admission_type_id": 1 + draw_rare(8, 1.4),
        "discharge_disposition_id": 1 + leaving,
        "admission_source_id": 1 + draw_rare(17, 1.9),
        "time_in_hospital": np.clip(rng.poisson(2.2 + 1.5 * frail), 1, 14),
        "payer_code": draw(["?", *(f"P{one}" for one in range(17))], [40, *(32 / (one + 1) for one in range(17))]),
        "medical_specialty": draw(["?", *(f"S{one}" for one in range(72))], [49, *(14 / (n + 1) for n in range(72))]),
        "num_lab_procedures": np.clip(rng.normal(38 + 5 * frail, 18, rows), 1, 132).astype(int),
        "num_procedures": np.minimum(rng.poisson(1.3, rows), 6),
        "num_medications": np.clip(rng.normal(12 + 4 * frail, 7, rows), 1, 81).astype(int),
        "number_outpatient": rng.poisson(0.2 * frail**2),
        "number_emergency": rng.poisson(0.2 * frail),
        "number_inpatient": earlier,
        **{f"diag_{at + 1}": [_name_code(one) for one in of] for at, of in enumerate(codes)},
        "number_diagnoses": np.clip(rng.poisson(6 + frail), 1, 16),
        "max_glu_serum": draw(["None", "Norm", ">200", ">300"], [94.7, 2.6, 1.5, 1.2]),
        "A1Cresult": draw(["None", ">8", "Norm", ">7"], [83.3, 8.1, 4.9, 3.7]),
    }
    for at in range(DRUGS):  # one in half of the rows, some in hardly any, two in none
        taken = 0.0 if at >= DRUGS - 2 else 0.53 * 0.68**at
        steps = [100 * (1 - taken), 60 * taken, 22 * taken, 18 * taken]
        columns[f"drug_{at + 1:02}"] = draw(["No", "Steady", "Up", "Down"], steps)
    columns["change"] = draw(["No", "Ch"], [53.8, 46.2])
    columns["diabetesMed"] = draw(["Yes", "No"], [77, 23])
    columns["readmitted"] = np.where(back, np.where(soon, "<30", ">30"), "NO")
    polars.DataFrame(columns).write_csv(path)
    return path


def _name_code(code: int) -> str:
    """A diagnosis as registers write it: most are numbers, some begin with a letter, some are unknown."""
    if code % 97 == 96:
        return "?"
    return f"V{code}" if code % 11 == 7 else f"{100 + code}" if code % 5 else f"250.{code:03}"


def write_books(
    folder: Path, users: int = 105_283, books: int = 340_553, ratings: int = 1_150_000, seed: int = 0
) -> Path:
    """Ratings of books by readers of seven languages: most books have one reader, most readers one book; the file of
    all books, with their languages, lies beside it.
    """
    rng = np.random.default_rng(seed)
    language_of_book, language_of_user = (rng.choice(len(LANGUAGES), of, p=SPOKEN) for of in (books, users))
    taste_of_book, taste_of_user = (rng.integers(0, TASTES, of) for of in (books, users))
    appeal = rng.permutation((np.arange(books) + 9.0) ** -0.78)
    activity = np.minimum(rng.pareto(0.95, users) + 0.35, 4_000)
    user = np.repeat(np.arange(users), np.maximum(np.round(activity * ratings / activity.sum()), 1).astype(int))
    book = _draw(rng, appeal, np.arange(books), len(user))
    own = rng.random(len(user)) < 0.9
    typical = rng.random(len(user)) < 0.4
    for language in range(len(LANGUAGES)):
        here, mine = np.flatnonzero(language_of_book == language), own & (language_of_user[user] == language)
        book[mine] = _draw(rng, appeal, here, int(mine.sum()))
        for taste in range(TASTES):
            some = mine & typical & (taste_of_user[user] == taste)
            shelf = here[taste_of_book[here] == taste]
            if len(shelf):
                book[some] = _draw(rng, appeal, shelf, int(some.sum()))
    stars = np.where(rng.random(len(user)) < 0.62, 0, np.clip(np.round(rng.normal(7.6, 1.8, len(user))), 1, 10))
    rated = polars.DataFrame({"User-ID": user, "ISBN": book, "Book-Rating": stars.astype(np.int64)})
    once = rated.unique(["User-ID", "ISBN"], keep="first", maintain_order=True)
    once.write_csv(folder / "ratings.csv", separator=";")
    known = {"ISBN": np.arange(books), "title": [f"Book {book}" for book in range(books)]}
    all_books = polars.DataFrame({**known, "language": np.array(LANGUAGES)[language_of_book]})
    all_books.write_csv(folder / "books.csv", separator=";")
    return folder / "ratings.csv"


def write_pickups(folder: Path, places: int = 564_516, candidates: int = 3_213, seed: int = 0) -> Path:
    """Where people were picked up in a city of many centres, and where a stand could be."""
    rng = np.random.default_rng(seed)
    centres = rng.normal((40.73, -73.97), (0.06, 0.06), (40, 2))
    for name, count in (("pickups", places), ("stands", candidates)):
        at = centres[rng.integers(0, len(centres), count)] + rng.normal(0, 0.02, (count, 2))
        frame = polars.DataFrame({"id": np.arange(count), "lat": at[:, 0].round(6), "lon": at[:, 1].round(6)})
        frame.write_csv(folder / f"{name}.csv")
    return folder / "pickups.csv"


def _draw(rng: np.random.Generator, appeal: Any, among: Any, count: int) -> Any:
    """So many of these items, each with a chance that follows its appeal."""
    bounds = np.cumsum(appeal[among])
    return among[np.searchsorted(bounds, rng.random(count) * bounds[-1])]
