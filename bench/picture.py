"""The pictures of the report: how many times faster than new/delete, for the rows that say most; the bytes held while loads
change; how long the slowest allocations take."""

import os

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


# What is held, and how long it takes: (column, label, colour, width of the line). The ones below may be missing.
HOLDERS = [
    ("malloc", "malloc", "#999999", 1.6),
    ("jemalloc", "jemalloc", "#E69F00", 1.6),
    ("tcmalloc", "tcmalloc", "#CC79A7", 1.6),
    ("mimalloc", "mimalloc", "#009E73", 1.6),
    ("tarn_default", "tarn, default", "#56B4E9", 2),
    ("tarn_returning_small", "tarn, presets::lean", "#0072B2", 2),
    ("tarn_page_returning", "tarn, return_empty_pages", "black", 2.4),
]
RUNS = [
    ("halves_64", "nine of ten freed at random,\nhalves replaced"),
    ("shrinks_64", "shrinks to a tenth\nunder churn"),
    ("cycles_64", "to a tenth and back"),
    ("churns_64", "churn, 100,000 live"),
    ("halves_1024", None),
    ("shrinks_1024", None),
    ("cycles_1024", None),
    ("hour_64", "an hour of tides and churn"),
]
LATENCIES = [
    ("malloc", "malloc", "#999999", 1.6),
    ("jemalloc", "jemalloc", "#E69F00", 1.6),
    ("tcmalloc", "tcmalloc", "#CC79A7", 1.6),
    ("mimalloc", "mimalloc", "#009E73", 1.6),
    ("tarn_default", "tarn, default", "#56B4E9", 2),
    ("tarn_pages", "tarn, page_store", "#0072B2", 2),
    ("tarn_growing_ahead", "tarn, grow_ahead and a thread", "#D55E00", 2),
    ("tarn_prefilled_reserved", "tarn, prefilled and reserved", "black", 2),
]


def draw_all(tables, folder):
    """Writes the pictures whose rows were measured, and returns the names of their files."""
    try:
        import matplotlib
    except ImportError:
        print("no picture: python3-matplotlib is not installed")
        return []
    matplotlib.use("Agg")
    pictures = {"benchmarks.png": draw, "held.png": draw_held, "latency.png": draw_latency}
    return [name for name, one in pictures.items() if one(tables, os.path.join(folder, name))]


def draw_held(tables, path):
    """A panel for each run: live bytes as an area, held bytes as lines; the points at the end are held after a purge."""
    rows = tables.get("held", {})
    if not all(row in rows for row, _ in RUNS):
        return False
    import matplotlib.pyplot as plt

    plt.rcParams.update({"font.size": 12, "font.family": "DejaVu Sans"})
    figure, panels = plt.subplots(2, 4, figsize=(13, 6.4), dpi=150)
    for panel, (row, title) in zip(panels.flat, RUNS):
        draw_run(panel, rows[row])
        if title:
            panel.set_title(title, fontsize=11)
        panel.annotate("1 KiB" if row.endswith("1024") else "64 bytes", (0.04, 0.97), xycoords="axes fraction", va="top",
                       fontsize=10, color="#555555")
    for line in panels:
        line[0].set_ylabel("MiB held")
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper center", ncol=len(labels), frameon=False, fontsize=10.5, columnspacing=1.2,
                  handlelength=1.6)
    figure.tight_layout(rect=(0, 0, 1, 0.94), w_pad=1.2)
    figure.savefig(path)
    plt.close(figure)
    return True


def draw_run(panel, columns):
    """One panel of draw_held()."""
    end = most = 0
    for number, (column, label, colour, width) in enumerate(HOLDERS):
        if column not in columns:
            continue
        figures = [int(word) / 1024 for word in columns[column].label.split()]
        live, held = figures[0:-2:2], figures[1:-2:2]  # the last moment is the purge's
        end = len(live)
        if most == 0:
            panel.fill_between(range(end), live, color="#E4E4E4", linewidth=0, zorder=1, label="live bytes")
        most = max(most, *held)
        panel.plot(range(end), held, color=colour, linewidth=width, zorder=2 + number, label=label)
        panel.plot(end * (1.03 + 0.02 * number), figures[-1], "o", color=colour, markersize=4.5, zorder=2 + number)
    panel.axvline(end, color="#BBBBBB", linewidth=0.8, linestyle=(0, (2, 2)))
    panel.set_xlim(0, end * 1.18)
    panel.set_ylim(0, most * 1.25)
    panel.set_xticks([end / 2, end * 1.1], ["time", "purged"])
    panel.tick_params(labelsize=10)
    panel.tick_params(axis="x", length=0)
    panel.grid(axis="y", color="#DDDDDD", linewidth=0.6, zorder=0)
    panel.spines[["top", "right"]].set_visible(False)


def draw_latency(tables, path):
    """For each column, the time that one of so many allocations is above."""
    columns = tables.get("latency", {}).get("first_write")
    if not columns:
        return False
    import matplotlib.pyplot as plt
    from matplotlib.ticker import FuncFormatter

    plt.rcParams.update({"font.size": 12, "font.family": "DejaVu Sans"})
    figure, axes = plt.subplots(figsize=(11, 5.6), dpi=150)
    for column, label, colour, width in LATENCIES:
        if column in columns:
            times = [max(int(word), 1) for word in columns[column].label.split()]
            axes.plot([10 ** (i / 8) for i in range(len(times))], times, color=colour, linewidth=width, label=label)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(left=1)
    axes.set_ylim(bottom=5)
    axes.set_xlabel("one allocation and first write of so many takes longer")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.yaxis.set_major_formatter(FuncFormatter(
        lambda value, _: f"{value:g} ns" if value < 1e3 else f"{value / 1e3:g} µs" if value < 1e6 else f"{value / 1e6:g} ms"))
    axes.grid(color="#DDDDDD", linewidth=0.6, zorder=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.01), ncol=4, frameon=False, fontsize=10.5, columnspacing=1.2,
                handlelength=1.6)
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)
    return True


def draw(tables, path):
    """Writes the picture; returns False where the rows weren't measured."""
    rows = [(tables[table][row], label) for table, row, label in ROWS if "new_delete" in tables.get(table, {}).get(row, {})]
    if not rows:
        return False
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
