"""The picture of the report: how many times faster than new/delete, for the rows that say most."""

import results

# (table, row, label); each row needs new_delete and the columns below.
ROWS = [
    ("free_list", "pair", "allocate, free\n(the pair)"),
    ("free_list", "hundred", "100 allocations,\n100 frees"),
    ("free_list", "churn", "churn,\n100,000 live"),
    ("free_list", "random", "a million, freed\nin random order"),
    ("free_list", "first_fill", "first fill\nof a million"),
    ("free_list", "first_fill_huge", "first fill,\nhuge pages"),
    ("small_objects", "size_16", "a million\nof 16 bytes"),
    ("small_objects", "mixed", "four sizes,\nrandom order"),
]

# Colours that stay apart for colour-blind readers (Okabe and Ito).
COLUMNS = [
    ("pmr_unsync", "std::pmr", "#999999"),
    ("boost_pool", "Boost.Pool", "#E69F00"),
    ("tarn_lifo", "tarn, lifo_reuse", "#56B4E9"),
    ("tarn_default", "tarn, default", "#0072B2"),
]


def draw(tables, path):
    """Writes the picture; returns False where the rows weren't measured or matplotlib is missing."""
    rows = [(tables[table][row], label) for table, row, label in ROWS if "new_delete" in tables.get(table, {}).get(row, {})]
    if not rows:
        return False
    try:
        import matplotlib
    except ImportError:
        print("no picture: python3-matplotlib is not installed")
        return False
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import FixedLocator, FuncFormatter

    plt.rcParams.update({"font.size": 12, "font.family": "DejaVu Sans"})
    figure, axes = plt.subplots(figsize=(11, 5.6), dpi=150)
    width = 0.8 / len(COLUMNS)
    for i, (row, _) in enumerate(rows):
        heap = row["new_delete"].value
        for j, (column, label, colour) in enumerate(COLUMNS):
            if column in row:
                at = i + (j - (len(COLUMNS) - 1) / 2) * width
                height = heap / row[column].value
                # Bars start at 1: upwards is faster than new/delete, downwards slower.
                axes.bar(at, height - 1, width * 0.94, bottom=1, color=colour, label=label if i == 0 else None, zorder=2)
                up = height >= 1
                axes.annotate(f"{height:.1f}" if height < 9.95 else f"{height:.0f}", (at, height), ha="center",
                              va="bottom" if up else "top", fontsize=9.5, zorder=5, textcoords="offset points",
                              xytext=(0, 4 if up else -4), bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5})
        limit = results.limit_of(row)
        if limit:
            axes.hlines(heap / limit, i - 0.44, i + 0.44, color="#D55E00", linewidth=1.8, linestyle=(0, (3, 1.5)), zorder=3,
                        label="limit: fastest hand-written reference" if i == 0 else None)
    axes.axhline(1, color="black", linewidth=1, zorder=3)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}×"))
    axes.yaxis.set_minor_locator(FixedLocator([0.2, 0.5, 2, 5, 20, 50]))
    axes.yaxis.set_minor_formatter(FuncFormatter(lambda value, _: f"{value:g}×"))
    axes.set_ylabel("times as fast as new/delete")
    axes.set_xticks(range(len(rows)), [label for _, label in rows], fontsize=10)
    axes.tick_params(axis="x", length=0)
    axes.grid(axis="y", which="both", color="#DDDDDD", linewidth=0.6, zorder=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(x=0.01, y=0.08)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.01), ncol=5, frameon=False, fontsize=10.5, columnspacing=1.2,
                handlelength=1.4)
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)
    return True
