// WHIP and WHEP: one offer by HTTP, one answer. The forty lines that any such program needs.
package main

import (
	"bufio"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/pion/webrtc/v3"
)

// byHTTP prints {"status": 409} while nothing is published, {"status": 201}, then {"received": {"audio": PACKETS, "video": PICTURES}}
// each second. It ends its session when it is told to leave, or when its time is over.
func byHTTP(what, url string, end <-chan time.Time, picture string) {
	var mutex sync.Mutex
	counts := map[string]int{"audio": 0, "video": 0}
	pc, start := (*webrtc.PeerConnection)(nil), func(string) {}
	if what == "publish" {
		pc, start = sending("pion")
	} else {
		pc = receiving(func(kind string) {
			mutex.Lock()
			counts[kind]++
			mutex.Unlock()
		})
	}
	status, session, answer := 409, "", ""
	for ; status == 409; time.Sleep(time.Second) {
		status, session, answer = ask("POST", url, pc.LocalDescription().SDP)
		say(words{"status": status})
	}
	if status != 201 {
		log.Fatal(answer)
	}
	must(pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: answer}))
	start(picture)
	left := make(chan struct{})
	go func() {
		if bufio.NewScanner(os.Stdin).Scan() {
			close(left)
		}
	}()
	for range time.Tick(time.Second) {
		select {
		case <-end:
		case <-left:
		default:
			mutex.Lock()
			say(words{"received": counts})
			mutex.Unlock()
			continue
		}
		status, _, _ = ask("DELETE", session, "")
		say(words{"ended": status})
		return
	}
}

func receiving(count func(kind string)) *webrtc.PeerConnection {
	pc, err := webrtc.NewPeerConnection(webrtc.Configuration{})
	must(err)
	for _, kind := range []webrtc.RTPCodecType{webrtc.RTPCodecTypeAudio, webrtc.RTPCodecTypeVideo} {
		_, err := pc.AddTransceiverFromKind(kind, webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionRecvonly})
		must(err)
	}
	pc.OnTrack(func(remote *webrtc.TrackRemote, _ *webrtc.RTPReceiver) {
		receive(pc, remote, func() { count(remote.Kind().String()) })
	})
	offer, err := pc.CreateOffer(nil)
	must(err)
	must(pc.SetLocalDescription(offer))
	return pc
}

// ask returns the status, the session's URL and the answer.
func ask(method, url, sdp string) (int, string, string) {
	request, err := http.NewRequest(method, url, strings.NewReader(sdp))
	must(err)
	if sdp != "" {
		request.Header.Set("Content-Type", "application/sdp")
	}
	response, err := http.DefaultClient.Do(request)
	must(err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	must(err)
	session := ""
	if location, err := response.Location(); err == nil {
		session = location.String()
	}
	return response.StatusCode, session, string(body)
}
