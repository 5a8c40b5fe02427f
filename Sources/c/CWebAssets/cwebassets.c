#include "cwebassets.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char index_html[] = {
#embed "../../clients/WebClient/Assets/index.html"
};
static const unsigned char app_js[] = {
#embed "../../clients/WebClient/Assets/app.js"
};
static const unsigned char calling_js[] = {
#embed "../../clients/WebClient/Assets/calling.js"
};
static const unsigned char here_js[] = {
#embed "../../clients/WebClient/Assets/here.js"
};
static const unsigned char inviting_js[] = {
#embed "../../clients/WebClient/Assets/inviting.js"
};
static const unsigned char lobby_js[] = {
#embed "../../clients/WebClient/Assets/lobby.js"
};
static const unsigned char seat_js[] = {
#embed "../../clients/WebClient/Assets/seat.js"
};
static const unsigned char sending_js[] = {
#embed "../../clients/WebClient/Assets/sending.js"
};
static const unsigned char stage_js[] = {
#embed "../../clients/WebClient/Assets/stage.js"
};
static const unsigned char chat_js[] = {
#embed "../../clients/WebClient/Assets/chat.js"
};
static const unsigned char asking_js[] = {
#embed "../../clients/WebClient/Assets/asking.js"
};
static const unsigned char connection_js[] = {
#embed "../../clients/WebClient/Assets/connection.js"
};
static const unsigned char grid_js[] = {
#embed "../../clients/WebClient/Assets/grid.js"
};
static const unsigned char layout_js[] = {
#embed "../../clients/WebClient/Assets/layout.js"
};
static const unsigned char links_js[] = {
#embed "../../clients/WebClient/Assets/links.js"
};
static const unsigned char spotlight_js[] = {
#embed "../../clients/WebClient/Assets/spotlight.js"
};
static const unsigned char tabs_js[] = {
#embed "../../clients/WebClient/Assets/tabs.js"
};
static const unsigned char tile_js[] = {
#embed "../../clients/WebClient/Assets/tile.js"
};
static const unsigned char tiles_js[] = {
#embed "../../clients/WebClient/Assets/tiles.js"
};
static const unsigned char viewing_js[] = {
#embed "../../clients/WebClient/Assets/viewing.js"
};
static const unsigned char media_js[] = {
#embed "../../clients/WebClient/Assets/media.js"
};
static const unsigned char page_js[] = {
#embed "../../clients/WebClient/Assets/page.js"
};
static const unsigned char phone_js[] = {
#embed "../../clients/WebClient/Assets/phone.js"
};
static const unsigned char ringing_js[] = {
#embed "../../clients/WebClient/Assets/ringing.js"
};
static const unsigned char tones_js[] = {
#embed "../../clients/WebClient/Assets/tones.js"
};
static const unsigned char view_js[] = {
#embed "../../clients/WebClient/Assets/view.js"
};
static const unsigned char words_js[] = {
#embed "../../clients/WebClient/Assets/words.js"
};
static const unsigned char door_js[] = {
#embed "../../clients/WebClient/Assets/door.js"
};
static const unsigned char hands_js[] = {
#embed "../../clients/WebClient/Assets/hands.js"
};
static const unsigned char moderated_js[] = {
#embed "../../clients/WebClient/Assets/moderated.js"
};
static const unsigned char moderating_js[] = {
#embed "../../clients/WebClient/Assets/moderating.js"
};
static const unsigned char moderation_js[] = {
#embed "../../clients/WebClient/Assets/moderation.js"
};
static const unsigned char online_js[] = {
#embed "../../clients/WebClient/Assets/online.js"
};
static const unsigned char tokens_js[] = {
#embed "../../clients/WebClient/Assets/tokens.js"
};
static const unsigned char roost_d_ts[] = {
#embed "../../clients/WebClient/Assets/roost.d.ts"
};
static const unsigned char package_json[] = {
#embed "../../clients/WebClient/Assets/package.json"
};
static const unsigned char roost_js[] = {
#embed "../../clients/WebClient/Assets/roost.js"
};
static const unsigned char basics_js[] = {
#embed "../../clients/WebClient/Assets/basics.js"
};
static const unsigned char call_js[] = {
#embed "../../clients/WebClient/Assets/call.js"
};
static const unsigned char callbook_js[] = {
#embed "../../clients/WebClient/Assets/callbook.js"
};
static const unsigned char client_js[] = {
#embed "../../clients/WebClient/Assets/client.js"
};
static const unsigned char devices_js[] = {
#embed "../../clients/WebClient/Assets/devices.js"
};
static const unsigned char errors_js[] = {
#embed "../../clients/WebClient/Assets/errors.js"
};
static const unsigned char peers_js[] = {
#embed "../../clients/WebClient/Assets/peers.js"
};
static const unsigned char quality_js[] = {
#embed "../../clients/WebClient/Assets/quality.js"
};
static const unsigned char room_js[] = {
#embed "../../clients/WebClient/Assets/room.js"
};
static const unsigned char session_js[] = {
#embed "../../clients/WebClient/Assets/session.js"
};
static const unsigned char sound_js[] = {
#embed "../../clients/WebClient/Assets/sound.js"
};
static const unsigned char sound_d_ts[] = {
#embed "../../clients/WebClient/Assets/sound.d.ts"
};
static const unsigned char tracks_js[] = {
#embed "../../clients/WebClient/Assets/tracks.js"
};
static const unsigned char views_js[] = {
#embed "../../clients/WebClient/Assets/views.js"
};
static const unsigned char style_css[] = {
#embed "../../clients/WebClient/Assets/style.css"
};
static const unsigned char icon_svg[] = {
#embed "../../clients/WebClient/Assets/icon.svg"
};

static const cwebassets_file files[] = {
  {"index.html", "text/html; charset=utf-8", index_html, sizeof index_html},
  {"app.js", "text/javascript; charset=utf-8", app_js, sizeof app_js},
  {"calling.js", "text/javascript; charset=utf-8", calling_js, sizeof calling_js},
  {"here.js", "text/javascript; charset=utf-8", here_js, sizeof here_js},
  {"inviting.js", "text/javascript; charset=utf-8", inviting_js, sizeof inviting_js},
  {"lobby.js", "text/javascript; charset=utf-8", lobby_js, sizeof lobby_js},
  {"seat.js", "text/javascript; charset=utf-8", seat_js, sizeof seat_js},
  {"sending.js", "text/javascript; charset=utf-8", sending_js, sizeof sending_js},
  {"stage.js", "text/javascript; charset=utf-8", stage_js, sizeof stage_js},
  {"door.js", "text/javascript; charset=utf-8", door_js, sizeof door_js},
  {"hands.js", "text/javascript; charset=utf-8", hands_js, sizeof hands_js},
  {"moderated.js", "text/javascript; charset=utf-8", moderated_js, sizeof moderated_js},
  {"moderating.js", "text/javascript; charset=utf-8", moderating_js, sizeof moderating_js},
  {"moderation.js", "text/javascript; charset=utf-8", moderation_js, sizeof moderation_js},
  {"online.js", "text/javascript; charset=utf-8", online_js, sizeof online_js},
  {"tokens.js", "text/javascript; charset=utf-8", tokens_js, sizeof tokens_js},
  {"chat.js", "text/javascript; charset=utf-8", chat_js, sizeof chat_js},
  {"asking.js", "text/javascript; charset=utf-8", asking_js, sizeof asking_js},
  {"connection.js", "text/javascript; charset=utf-8", connection_js, sizeof connection_js},
  {"grid.js", "text/javascript; charset=utf-8", grid_js, sizeof grid_js},
  {"layout.js", "text/javascript; charset=utf-8", layout_js, sizeof layout_js},
  {"links.js", "text/javascript; charset=utf-8", links_js, sizeof links_js},
  {"spotlight.js", "text/javascript; charset=utf-8", spotlight_js, sizeof spotlight_js},
  {"tabs.js", "text/javascript; charset=utf-8", tabs_js, sizeof tabs_js},
  {"tile.js", "text/javascript; charset=utf-8", tile_js, sizeof tile_js},
  {"tiles.js", "text/javascript; charset=utf-8", tiles_js, sizeof tiles_js},
  {"viewing.js", "text/javascript; charset=utf-8", viewing_js, sizeof viewing_js},
  {"media.js", "text/javascript; charset=utf-8", media_js, sizeof media_js},
  {"page.js", "text/javascript; charset=utf-8", page_js, sizeof page_js},
  {"phone.js", "text/javascript; charset=utf-8", phone_js, sizeof phone_js},
  {"ringing.js", "text/javascript; charset=utf-8", ringing_js, sizeof ringing_js},
  {"tones.js", "text/javascript; charset=utf-8", tones_js, sizeof tones_js},
  {"view.js", "text/javascript; charset=utf-8", view_js, sizeof view_js},
  {"words.js", "text/javascript; charset=utf-8", words_js, sizeof words_js},
  {"roost.js", "text/javascript; charset=utf-8", roost_js, sizeof roost_js},
  {"basics.js", "text/javascript; charset=utf-8", basics_js, sizeof basics_js},
  {"call.js", "text/javascript; charset=utf-8", call_js, sizeof call_js},
  {"callbook.js", "text/javascript; charset=utf-8", callbook_js, sizeof callbook_js},
  {"client.js", "text/javascript; charset=utf-8", client_js, sizeof client_js},
  {"devices.js", "text/javascript; charset=utf-8", devices_js, sizeof devices_js},
  {"errors.js", "text/javascript; charset=utf-8", errors_js, sizeof errors_js},
  {"peers.js", "text/javascript; charset=utf-8", peers_js, sizeof peers_js},
  {"quality.js", "text/javascript; charset=utf-8", quality_js, sizeof quality_js},
  {"room.js", "text/javascript; charset=utf-8", room_js, sizeof room_js},
  {"session.js", "text/javascript; charset=utf-8", session_js, sizeof session_js},
  {"sound.js", "text/javascript; charset=utf-8", sound_js, sizeof sound_js},
  {"sound.d.ts", "text/plain; charset=utf-8", sound_d_ts, sizeof sound_d_ts},
  {"tracks.js", "text/javascript; charset=utf-8", tracks_js, sizeof tracks_js},
  {"views.js", "text/javascript; charset=utf-8", views_js, sizeof views_js},
  {"roost.d.ts", "text/plain; charset=utf-8", roost_d_ts, sizeof roost_d_ts},
  {"package.json", "application/json", package_json, sizeof package_json},
  {"style.css", "text/css; charset=utf-8", style_css, sizeof style_css},
  {"icon.svg", "image/svg+xml", icon_svg, sizeof icon_svg},
};

size_t cwebassets_count(void) { return sizeof files / sizeof files[0]; }

cwebassets_file cwebassets_at(size_t index) {
  if (index < cwebassets_count()) return files[index];
  return (cwebassets_file){"", "", index_html, 0};
}
