// swift-format-ignore-file
// Made by scripts/wire of Sources/wire/RoostProtocol/messages; `make wire` makes it again. Do not edit.

import RoostProtocol

extension Method {
  /// Its fields with what they take their values from, in the order of the protocol; those with `?` may be left out.
  var declaredFields: String {
    switch self {
    case .sessionHello: "user:u token:t? deviceId:d? displayName:n? capabilities:j? callable:b? resumeToken:t? takeover:b?"
    case .sessionResume: "resumeToken:t lastSeq:i"
    case .sessionToken: "token:t"
    case .sessionBye: ""
    case .ping: ""
    case .userQuery: "users:U"
    case .userBlock: "user:u"
    case .userUnblock: "user:u"
    case .userBlocked: ""
    case .roomJoin: "room:r displayName:n? media:m? metadata:j? autoSubscribe:b? views:i? takeover:b? resumeToken:t?"
    case .roomLeave: "room:r"
    case .roomList: "after:x? limit:i?"
    case .roomInfo: "room:r"
    case .roomModerate: "room:r action:a user:u? kind:m? role:R? until:l? hold:b? address:b? media:m?"
    case .roomRaiseHand: "room:r raised:b"
    case .chatSend: "room:r text:x to:U? clientMsgId:x?"
    case .chatHistory: "room:r before:x? limit:i?"
    case .messageSend: "room:r? callId:C? to:U? topic:x data:j"
    case .messageRequest: "room:r? callId:C? to:u topic:x data:j timeoutMs:i?"
    case .messageAnswer: "requestId:Q data:j"
    case .pcOffer: "pc:p sdp:o tracks:A?"
    case .pcAnswer: "offerId:i sdp:o"
    case .pcRestart: "pc:p"
    case .trackUnpublish: "trackId:T"
    case .trackMute: "trackId:T"
    case .trackUnmute: "trackId:T"
    case .trackSubscribe: "trackId:T definition:q? view:i? priority:i? maxHeight:i?"
    case .trackUnsubscribe: "subscriptionId:S"
    case .trackUpdate: "subscriptionId:S definition:q? paused:b? priority:i? maxHeight:i?"
    case .subscriptionSwap: "a:x b:x"
    case .viewOpen: "count:i kind:m?"
    case .viewShow: "views:V"
    case .callStart: "to:U kind:K media:m ringTimeoutMs:i? rejectPolicy:q? answerPolicy:q? busyPolicy:q? extra:j? push:j? clientCallId:x? replace:b? metadata:j? autoSubscribe:b?"
    case .callRinging: "callId:C"
    case .callAccept: "callId:C media:m? takeover:b? resumeToken:t? push:j? metadata:j? autoSubscribe:b?"
    case .callReject: "callId:C reason:g? text:x? scope:q? push:j?"
    case .callCancel: "callId:C push:j?"
    case .callHangup: "callId:C? reason:g? text:x? push:j?"
    case .callInvite: "callId:C users:U extra:j? push:j? ringTimeoutMs:i? busyPolicy:q?"
    case .callCancelInvite: "callId:C users:U"
    case .callJoin: "callId:C media:m? takeover:b? resumeToken:t? metadata:j? autoSubscribe:b?"
    case .callGet: "callId:C"
    case .callCurrent: ""
    case .callAvailable: ""
    case .callHistory: "before:x? limit:i?"
    case .callMediaChange: "callId:C? action:q media:m?"
    case .callEnd: "callId:C"
    }
  }
}
