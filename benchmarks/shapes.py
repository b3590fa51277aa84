"""Files of the shapes that people bring, generated: what a tool does to them can then be measured anywhere."""

from pathlib import Path

import numpy as np
import polars
from numpy.typing import NDArray

HOSPITALS = 24
DIAGNOSES = 748  # codes; a few are in every tenth row, most in one row of thousands
DRUGS = 23


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
