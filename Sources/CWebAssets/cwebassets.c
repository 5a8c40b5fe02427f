#include "cwebassets.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char index_html[] = {
#embed "../WebClient/Assets/index.html"
};
static const unsigned char app_js[] = {
#embed "../WebClient/Assets/app.js"
};
static const unsigned char roost_js[] = {
#embed "../WebClient/Assets/roost.js"
};
static const unsigned char view_js[] = {
#embed "../WebClient/Assets/view.js"
};
static const unsigned char style_css[] = {
#embed "../WebClient/Assets/style.css"
};
static const unsigned char icon_svg[] = {
#embed "../WebClient/Assets/icon.svg"
};

static const cwebassets_file files[] = {
  {"index.html", "text/html; charset=utf-8", index_html, sizeof index_html},
  {"app.js", "text/javascript; charset=utf-8", app_js, sizeof app_js},
  {"roost.js", "text/javascript; charset=utf-8", roost_js, sizeof roost_js},
  {"view.js", "text/javascript; charset=utf-8", view_js, sizeof view_js},
  {"style.css", "text/css; charset=utf-8", style_css, sizeof style_css},
  {"icon.svg", "image/svg+xml", icon_svg, sizeof icon_svg},
};

size_t cwebassets_count(void) { return sizeof files / sizeof files[0]; }

cwebassets_file cwebassets_at(size_t index) {
  if (index < cwebassets_count()) return files[index];
  return (cwebassets_file){"", "", index_html, 0};
}
