"""A column that says what an item is worth is found by its words and its cells; one that may be is asked about."""

from pathlib import Path

import numpy as np
import pytest

from folkmoot.data import Data, load, look
from folkmoot.data.columns import split_words
from folkmoot.foundation.errors import InputError, OpenQuestion
from folkmoot.objectives import Coverage
from tests.data.writing import dense, loaded, write

CELLS = ("5", "1", "3", "2", "4")
STARS = [[5, 1, 0], [3, 0, 2], [0, 4, 0]]


def table(*heads: str, cells: tuple[str, ...] = CELLS) -> str:
    """Three people, three things, and a value or more."""
    pairs = ("1,a", "1,b", "2,a", "2,c", "3,b")
    rows = [f"{pair},{cell}" for pair, cell in zip(pairs, cells, strict=True)]
    return "\n".join([",".join(heads), *rows]) + "\n"


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ("Book-Rating", ["book", "rating"]),
        ("bookRating2", ["book", "rating"]),
        ("bookrating", ["book", "rating"]),
        ("USER_ID", ["user", "id"]),
        ("userID", ["user", "id"]),
        ("n_plays", ["n", "plays"]),
        ("users", ["users"]),
        ("", []),
    ],
)
def test_names_have_words(column: str, words: list[str]) -> None:
    assert split_words(column) == words


@pytest.mark.parametrize(
    "value",
    [
        *("Book-Rating", "movie_rating", "user_rating", "userRating", "bookrating", "quantity", "qty", "Qty Ordered"),
        *("amount", "n_plays", "play_count", "order_quantity", "time_spent", "stars given", "hours", "liked"),
    ],
)
def test_values_are_found_by_their_words(tmp_path: Path, value: str) -> None:
    read = loaded(tmp_path, table("User-ID", "ISBN", value))
    assert read.kind == "ratings"
    assert dense(read.objective).tolist() == STARS
    assert f"it has User-ID, ISBN and {value}." in " ".join(read.notes)


@pytest.mark.parametrize("value", ["distance_km", "network distance", "Travel-Time", "distKm"])
def test_distances_are_found_by_their_words(tmp_path: Path, value: str) -> None:
    assert loaded(tmp_path, table("customer", "store", value), reach=9).kind == "distances"


@pytest.mark.parametrize(
    ("client", "item"),
    [("anonymous_user_id", "itemDescription"), ("Member_number", "item_description"), ("reviewerID", "asin")],
)
def test_clients_and_items_are_found_by_their_words(tmp_path: Path, client: str, item: str) -> None:
    read = loaded(tmp_path, table(client, item, "rating"))
    assert dense(read.objective).tolist() == STARS


def test_two_columns_of_one_meaning_are_not_chosen_between(tmp_path: Path) -> None:
    text = "old_user_id,new_user_id,item,rating\n1,2,3,4\n"
    with pytest.raises(InputError, match=r"known to be the client; left are old_user_id and new_user_id;.*client=…"):
        loaded(tmp_path, text)


@pytest.mark.parametrize("words", [("yes", "no"), ("Y", "N"), ("TRUE", "False"), ("like", "dislike"), ("1", "0")])
def test_yes_and_no_are_memberships(tmp_path: Path, words: tuple[str, str]) -> None:
    yes, no = words
    read = loaded(tmp_path, table("user", "film", "liked", cells=(yes, no, no, yes, yes)))
    assert isinstance(read.objective, Coverage)
    assert dense(read.objective).tolist() == [[1, 0, 0], [0, 0, 1], [0, 1, 0]]
    if yes != "1":
        assert "liked: yes counts as 1, no as 0." in read.notes
    given = loaded(tmp_path, table("user", "film", "wish", cells=(yes, no, no, yes, yes)), value="wish")
    assert np.array_equal(dense(given.objective), dense(read.objective))


def test_neither_yes_nor_no_is_a_fault(tmp_path: Path) -> None:
    rows = "".join(f"{user},{user % 7},{('yes', 'no')[user % 2]}\n" for user in range(1200))
    text = f"user,film,liked\n{rows}9,8,perhaps\n"
    with pytest.raises(InputError, match=r"1 cell of liked is neither yes nor no, in line 1,202"):
        loaded(tmp_path, text)


def test_yes_and_no_in_parquet(tmp_path: Path) -> None:
    import polars

    polars.DataFrame({"user": [1, 2], "item": ["a", "b"], "liked": [True, False]}).write_parquet(tmp_path / "r.parquet")
    assert dense(load(Data(file="r.parquet"), tmp_path).objective).tolist() == [[1, 0], [0, 0]]


def shop(column: str, cells: list[str]) -> str:
    """People who buy things, several times each thing and each person, with one more column."""
    rows = [f"{at % 25},{(at * 7 + at // 25) % 30},{cell}" for at, cell in enumerate(cells)]
    return f"user,product,{column}\n" + "\n".join(rows) + "\n"


ROLLED = [str(at) for at in np.random.default_rng(0).integers(1, 6, 500)]
ASKED = {
    "numbers": shop("consumed", ROLLED),
    "fractions": shop("how_much", [f"{int(at) / 7:.3f}" for at in ROLLED]),
    "yes or no": shop("consumed", ["yes" if int(at) > 2 else "no" for at in ROLLED]),
    "hours among dashes": shop("consumed", [at if int(at) > 1 or k % 9 else "-" for k, at in enumerate(ROLLED)]),
}


@pytest.mark.parametrize("text", ASKED.values(), ids=ASKED)
def test_what_may_be_a_value_is_asked_about(tmp_path: Path, text: str) -> None:
    column = text.split("\n")[0].split(",")[-1]
    with pytest.raises(OpenQuestion) as question:
        loaded(tmp_path, text, duplicates="first")
    assert str(question.value) == (
        f"ratings.csv: {column} may say what each product is worth to a user, or something else; "
        f"say whether it counts: value='{column}' or value=''"
    )
    assert question.value.ways == (("value", column), ("value", ""))
    ignored = loaded(tmp_path, text, value="")
    assert (ignored.kind, ignored.objective.n_clients) == ("memberships", 25)
    assert not any("not used" in note for note in ignored.notes)
    assert loaded(tmp_path, text, value=column, duplicates="first", missing="drop").kind in ("ratings", "memberships")
    seen = look(Data(file="ratings.csv"), tmp_path)
    assert seen.problem is not None
    assert seen.taken == (("client", "user"), ("item", "product"))


def test_of_two_possible_values_one_is_to_be_named(tmp_path: Path) -> None:
    text = table("user", "beer", "aroma_rating", "taste_rating", cells=("5,1", "1,2", "3,3", "2,2", "4,5"))
    with pytest.raises(OpenQuestion, match=r"aroma_rating and taste_rating may say .*value='aroma_rating' or"):
        loaded(tmp_path, text)


rng = np.random.default_rng(1)
UNRELATED = {
    "timestamp": shop("when", [str(at) for at in rng.integers(900_000_000, 10**9, 500)]),
    "timestamp by name": shop("timestamp", ROLLED),
    "year": shop("since", [str(at) for at in rng.integers(1990, 2024, 500)]),
    "date": shop("bought_on", [f"2024{at:02d}11" for at in rng.integers(1, 13, 500)]),
    "written date": shop("bought", [f"2024-{at:02d}-11" for at in rng.integers(1, 13, 500)]),
    "ids": shop("basket", [str(at) for at in rng.permutation(5000)[:500]]),
    "ids without a name": shop("nr2", [str(at) for at in rng.permutation(5000)[:500]]),
    "row numbers": shop("record", [str(at) for at in range(500)]),
    "age": shop("age", ROLLED),
    "age by its cells": shop("oldness", [str(20 + at % 25 % 9) for at in range(500)]),
    "price": shop("unit_price", ROLLED),
    "price by its cells": shop("costs", [str((at * 7 + at // 25) % 30 % 8) for at in range(500)]),
    "average": shop("avg_rating", ROLLED),
    "ratings of all": shop("ratings_count", ROLLED),
    "zip code": shop("zip", ROLLED),
    "text": shop("remark", [f"x{at}" for at in ROLLED]),
    "constant": shop("batch", ["7"] * 500),
    "population": shop("population", ROLLED),
}


@pytest.mark.parametrize("text", UNRELATED.values(), ids=UNRELATED)
def test_what_is_something_else_stops_nobody(tmp_path: Path, text: str) -> None:
    read = loaded(tmp_path, text)
    assert read.kind == "memberships"
    assert read.objective.n_clients == 25


def test_row_numbers_lead(tmp_path: Path) -> None:
    text = "".join(f"{at},{row}" for at, row in enumerate(table("user", "item", "seen_in").splitlines(True)))
    text = text.replace("0,user,item,seen_in", ",user,item,place").replace(",5\n", ",x\n")
    read = loaded(tmp_path, text.replace(",1\n", ",x\n").replace(",3\n", ",y\n"), item="item")
    assert read.kind == "memberships"


def test_a_kind_that_is_given_is_not_asked_about(tmp_path: Path) -> None:
    assert loaded(tmp_path, ASKED["numbers"], kind="memberships").kind == "memberships"
    liked = loaded(tmp_path, table("user", "film", "liked", cells=("yes", "no", "no", "yes", "yes")), kind="ratings")
    assert dense(liked.objective).tolist() == [[1, 0, 0], [0, 0, 1], [0, 1, 0]]
    flags = loaded(tmp_path, (tmp_path / "ratings.csv").read_text(), kind="memberships")
    assert flags.objective.gains([]).nnz == 3


SHAPES = {
    "books": ("User-ID,ISBN,Book-Rating", "ratings"),
    "shop": ("Member_number,Date,itemDescription", "memberships"),
    "invoices": ("InvoiceNo,StockCode,Description,Quantity,InvoiceDate,UnitPrice,CustomerID", "ratings"),
    "reviews": ("reviewerID,asin,overall,unixReviewTime", "ratings"),
    "music": ("userID,artistID,weight", "ratings"),
    "visits": ("timestamp,visitorid,event,itemid,transactionid", "memberships"),
    "households": ("household_key,BASKET_ID,DAY,PRODUCT_ID,QUANTITY,SALES_VALUE,STORE_ID", "asked"),
    "videos": ("user_id,video_id,watch_ratio,date", "ratings"),
    "tags": ("userId,movieId,tag,timestamp", "memberships"),
    "courses": ("student_id,course_id,grade,semester", "ratings"),
    "survey": ("respondent,option,age,agree", "asked"),
}


def fill(column: str, rng: np.random.Generator) -> str:
    """A cell as such a column has it."""
    name = column.lower()
    if name in ("asin", "isbn", "stockcode", "description", "itemdescription", "tag", "event"):
        return f"x{rng.integers(40)}"
    if name in ("date", "invoicedate"):
        return f"2015-03-{rng.integers(10, 28)}"
    if name == "agree":
        return str(rng.choice(["yes", "no"]))
    if "time" in name:
        return str(rng.integers(900_000_000, 10**9))
    if name in ("invoiceno", "transactionid", "basket_id"):
        return str(rng.integers(10**6))
    return str(rng.integers(1, 30)) if name.rstrip("_").endswith(("id", "key", "number")) else str(rng.integers(1, 6))


@pytest.mark.parametrize(("head", "kind"), SHAPES.values(), ids=SHAPES)
def test_columns_of_well_known_files(tmp_path: Path, head: str, kind: str) -> None:
    rng = np.random.default_rng(3)
    rows = [",".join(fill(column, rng) for column in head.split(",")) for _ in range(400)]
    write(tmp_path, "known.csv", "\n".join([head, *rows]) + "\n")
    seen = look(Data(file="known.csv"), tmp_path)
    asked = isinstance(seen.problem, OpenQuestion)
    assert (kind if asked else seen.kind) == kind
    assert asked == (kind == "asked")


def test_positions_and_titles_are_found_by_their_words(tmp_path: Path) -> None:
    write(tmp_path, "shops.csv", "primaryTitle,Shop Latitude,Shop Longitude\nX,52,13\nY,48,11\n")
    read = loaded(tmp_path, "home_lat,home_lon\n52.1,13\n48.1,11\n", items="shops.csv", reach=20)
    assert (read.kind, read.items.names) == ("places", ("X", "Y"))
    with pytest.raises(InputError, match=r"several positions.* latitude='from_lat' or latitude='to_lat'"):
        loaded(tmp_path, "from_lat,from_lon,to_lat,to_lon\n52.1,13,1,1\n48.1,11,2,2\n", items="shops.csv", reach=20)
