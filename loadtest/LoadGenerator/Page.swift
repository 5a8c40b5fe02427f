// What every page of the load test has around its contents: one file that refers to nothing outside it.

enum Page {
  /// A whole page. `title` is plain text, `body` is HTML.
  static func html(title: String, body: String) -> String {
    """
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>\(escaped(title))</title>
    <style>\(style)</style>
    </head>
    <body>
    \(body)
    </body>
    </html>

    """
  }

  private static let style = """
    :root{color-scheme:light dark;--ink:#1c2430;--soft:#5d6978;--paper:#f6f7f9;--card:#fff;--edge:#dfe3e8;--a:#2563c9;--b:#c2410c;
    --good:#15803d;--bad:#b91c1c}
    @media(prefers-color-scheme:dark){:root{--ink:#e6eaf0;--soft:#98a4b3;--paper:#12161c;--card:#1b212a;--edge:#2d3541;--a:#6ea3f7;
    --b:#f59e5b;--good:#4ade80;--bad:#f87171}}
    body{margin:0 auto;max-width:1200px;padding:24px;font:15px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--paper)}
    h1{margin:0;font-size:26px}h2{font-size:18px;margin:28px 0 8px}p{margin:6px 0;color:var(--soft)}
    .verdict{font-size:14px;padding:3px 10px;border-radius:999px;vertical-align:middle;color:var(--card)}
    .verdict.good{background:var(--good)}.verdict.bad{background:var(--bad)}
    .warning{color:var(--b);font-weight:600}
    .tiles{display:grid;grid-template-columns:repeat(auto-fill,minmax(170px,1fr));gap:12px;margin:18px 0}
    .tile,figure,table{background:var(--card);border:1px solid var(--edge);border-radius:10px}
    .tile{padding:12px 14px;display:flex;flex-direction:column}.tile b{font-size:22px}.tile small,small{color:var(--soft)}
    .charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(420px,1fr));gap:12px}
    figure{margin:0;padding:12px}figcaption{font-weight:600;margin-bottom:6px}
    svg{width:100%;height:auto;display:block}svg text{font-size:11px;fill:var(--soft)}.grid{stroke:var(--edge)}
    .line{fill:none;stroke-width:2}.c1{stroke:var(--a)}.c2{stroke:var(--b)}.bar{fill:var(--a)}.dot{fill:var(--a)}
    .key{font-weight:400;font-size:13px;margin-left:8px}.key.c1{color:var(--a)}.key.c2{color:var(--b)}
    table{border-collapse:separate;border-spacing:0;width:100%;overflow:hidden}td,th{padding:6px 12px;text-align:left;
    border-top:1px solid var(--edge);font-variant-numeric:tabular-nums}tr:first-child>*{border-top:0}th{color:var(--soft);font-weight:600}
    tr.good td:first-child{color:var(--good)}tr.bad td:first-child{color:var(--bad);font-weight:700}
    .people td:not(:first-child),.people th:not(:first-child){text-align:right}.scroll{max-height:520px;overflow:auto}
    .none{padding:60px 0;text-align:center}footer{margin:28px 0 0;color:var(--soft);font-size:13px}
    """
}
