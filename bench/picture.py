"""The pictures of the report: how many times as fast as new/delete and malloc, for the rows that say most; the bytes held while
loads change; how long the slowest allocations take."""

import os

import results

# A panel of the first picture: what 1 is, its columns (name, label, colour), its rows (table, row, label). Colours stay apart
# for colour-blind readers (Okabe and Ito). HAND_WRITTEN is the fastest reference of the row.
HAND_WRITTEN = "hand-written for this row"
PANELS = [
    ("new_delete", "One thread: times as fast as new/delete", [
        ("pmr_unsync", "std::pmr", "#999999"),
        ("boost_pool", "Boost.Pool", "#E69F00"),
        (HAND_WRITTEN, HAND_WRITTEN, "white"),
        ("tarn_lifo", "tarn, lifo_reuse", "#56B4E9"),
        ("tarn_default", "tarn, default", "#0072B2"),
    ], [
        ("free_list", "pair", "allocate one,\nfree it"),
        ("free_list", "hundred", "100 allocations,\n100 frees"),
        ("free_list", "churn", "100,000 live,\n64 replaced"),
        ("free_list", "random", "a million, freed\nin random order"),
        ("small_objects", "size_16", "a million\nof 16 bytes"),
    ]),
    ("malloc", "Two threads: times as fast as malloc", [
        ("jemalloc", "jemalloc", "#E69F00"),
        ("tcmalloc", "tcmalloc", "#CC79A7"),
        ("mimalloc", "mimalloc", "#009E73"),
        ("tarn_cached", "tarn, thread_cached", "#0072B2"),
    ], [
        ("threads", "pair_2", "allocate one,\nfree it"),
        ("threads", "churn_2", "10,000 live,\n64 replaced"),
        ("threads", "migrate_2", "objects\nchange hands"),
        ("threads", "batches", "one allocates,\none frees"),
    ]),
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
    ("halves_1024", None),
    ("shrinks_64", "shrinks to a tenth under churn"),
    ("shrinks_1024", None),
    ("cycles_64", "to a tenth and back"),
    ("cycles_1024", None),
    ("churns_64", "churn, 100,000 live"),
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
    figure, panels = plt.subplots(4, 2, figsize=(7.4, 11), dpi=150)
    for panel, (row, title) in zip(panels.flat, RUNS):
        draw_run(panel, rows[row])
        if title:
            panel.set_title(title, fontsize=11)
        panel.annotate("1 KiB" if row.endswith("1024") else "64 bytes", (0.04, 0.97), xycoords="axes fraction", va="top",
                       fontsize=10, color="#555555")
    for line in panels:
        line[0].set_ylabel("MiB held")
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper center", ncol=3, frameon=False, fontsize=11, columnspacing=1.2, handlelength=1.6)
    figure.tight_layout(rect=(0, 0, 1, 0.93), w_pad=1.2)
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
    panel.set_xticks([end / 2, end * 1.1], ["time", "trimmed"])
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
    figure, axes = plt.subplots(figsize=(7.4, 6.2), dpi=150)
    for column, label, colour, width in LATENCIES:
        if column in columns:
            times = [max(int(word), 1) for word in columns[column].label.split()]
            axes.plot([10 ** (i / 8) for i in range(len(times))], times, color=colour, linewidth=width, label=label)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(left=1)
    axes.set_ylim(bottom=5)
    axes.set_xlabel("1 in N allocations is slower than this")
    axes.set_ylabel("allocation and first write")
    axes.xaxis.set_major_formatter(FuncFormatter(
        lambda value, _: f"{value:g}" if value < 1e3 else f"{value / 1e3:g}k" if value < 1e6 else f"{value / 1e6:g}M"))
    axes.yaxis.set_major_formatter(FuncFormatter(
        lambda value, _: f"{value:g} ns" if value < 1e3 else f"{value / 1e3:g} µs" if value < 1e6 else f"{value / 1e6:g} ms"))
    axes.grid(color="#DDDDDD", linewidth=0.6, zorder=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.01), ncol=2, frameon=False, fontsize=11, columnspacing=1.2,
                handlelength=1.6)
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)
    return True


def draw(tables, path):
    """Writes the picture of the panels that were measured; returns False where none was."""
    panels = [panel for panel in PANELS if all(panel[0] in tables.get(table, {}).get(row, {}) for table, row, _ in panel[3])]
    if not panels:
        return False
    import matplotlib.pyplot as plt

    # Read on a telephone, too: 7.4 inches are 390 pixels there, and 12 points nine.
    plt.rcParams.update({"font.size": 12, "font.family": "DejaVu Sans"})
    figure, all_axes = plt.subplots(len(panels), 1, figsize=(7.4, 4.3 * len(panels)), dpi=150, squeeze=False)
    for axes, panel in zip(all_axes.flat, panels):
        draw_panel(axes, tables, *panel)
    figure.tight_layout(h_pad=1.5)
    figure.savefig(path)
    plt.close(figure)
    return True


def draw_panel(axes, tables, one, title, columns, labelled):
    """One panel of draw(): bars start at 1, upwards is faster than column `one`, downwards slower."""
    from matplotlib.ticker import FixedLocator, FuncFormatter

    width = 0.84 / len(columns)
    for j, (column, label, colour) in enumerate(columns):
        for i, (table, name, _) in enumerate(labelled):
            row = tables[table][name]
            time = results.limit_of(row) if column == HAND_WRITTEN else row[column].value if column in row else None
            if not time:
                continue
            at, height = i + (j - (len(columns) - 1) / 2) * width, row[one].value / time
            axes.bar(at, height - 1, width * 0.9, bottom=1, color=colour, label=label if i == 0 else None, zorder=2,
                     edgecolor="#555555" if colour == "white" else colour, linewidth=1)
            up = height >= 1
            axes.annotate(f"{height:.1f}" if height < 9.95 else f"{height:.0f}", (at, height), ha="center",
                          va="bottom" if up else "top", fontsize=10, zorder=5, textcoords="offset points",
                          xytext=(0, 2 if up else -2))
    axes.axhline(1, color="black", linewidth=1, zorder=3)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}×"))
    axes.yaxis.set_minor_locator(FixedLocator([0.2, 0.5, 2, 5, 20, 50]))
    axes.yaxis.set_minor_formatter(FuncFormatter(lambda value, _: f"{value:g}×"))
    axes.set_title(title, fontsize=13, loc="left", pad=44 if len(columns) > 4 else 26)
    axes.set_xticks(range(len(labelled)), [label for _, _, label in labelled], fontsize=10.5)
    axes.tick_params(axis="x", length=0)
    axes.grid(axis="y", which="both", color="#DDDDDD", linewidth=0.6, zorder=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(x=0.01, y=0.08)
    axes.legend(loc="lower left", bbox_to_anchor=(-0.01, 1), ncol=3 if len(columns) > 4 else 4, frameon=False, fontsize=11,
                columnspacing=1.1, handlelength=1.2, borderaxespad=0.2)
