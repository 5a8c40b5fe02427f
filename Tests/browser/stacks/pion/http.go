// WHIP and WHEP: one offer by HTTP, one answer. The forty lines that any such program needs.
package main

import (
	"bufio"
	"io"
	"log"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/pion/webrtc/v3"
)

// byHTTP prints {"status": 409} while nothing is published, {"status": 201}, then {"received": {"audio": PACKETS, "video": PICTURES}}
// each second. It ends its session when it is told to leave, or when its time is over. Told to restart, it restarts ICE and prints
// {"restarted": STATUS}; what it received then has "gap", the longest time from a picture to the next since then, in milliseconds.
func byHTTP(what, url string, end <-chan time.Time, picture string) {
	var mutex sync.Mutex
	counts := map[string]int{"audio": 0, "video": 0}
	var last time.Time
	pc, start := (*webrtc.PeerConnection)(nil), func(string) {}
	if what == "publish" {
		pc, start = sending("pion")
	} else {
		pc = receiving(func(kind string) {
			mutex.Lock()
			defer mutex.Unlock()
			counts[kind]++
			if kind == "video" && !last.IsZero() {
				if gap := int(time.Since(last).Milliseconds()); gap > counts["gap"] {
					counts["gap"] = gap
				}
				last = time.Now()
			}
		})
	}
	status, session, answer := 409, "", ""
	for ; status == 409; time.Sleep(time.Second) {
		status, session, answer = ask("POST", url, "application/sdp", pc.LocalDescription().SDP)
		say(words{"status": status})
	}
	if status != 201 {
		log.Fatal(answer)
	}
	must(pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: answer}))
	start(picture)
	left := make(chan struct{})
	go func() {
		input := bufio.NewScanner(os.Stdin)
		for input.Scan() {
			if input.Text() == "leave" {
				close(left)
				return
			}
			mutex.Lock()
			last = time.Now()
			mutex.Unlock()
			say(words{"restarted": restart(pc, session, answer)})
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
		status, _, _ = ask("DELETE", session, "", "")
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

var credentials = regexp.MustCompile(`a=ice-(ufrag|pwd):\S+`)

// restart gives ICE new names at both ends, and returns the status. The rest of the answer stays as it was.
func restart(pc *webrtc.PeerConnection, session, answer string) int {
	offer, err := pc.CreateOffer(&webrtc.OfferOptions{ICERestart: true})
	must(err)
	must(pc.SetLocalDescription(offer))
	own := credentials.FindAllString(offer.SDP, 2)
	status, _, fragment := ask("PATCH", session, "application/trickle-ice-sdpfrag", strings.Join(own, "\r\n")+"\r\n")
	if status != 200 {
		log.Fatal(fragment)
	}
	fresh := map[string]string{}
	for _, line := range credentials.FindAllString(fragment, 2) {
		fresh[strings.SplitN(line, ":", 2)[0]] = line
	}
	sdp := credentials.ReplaceAllStringFunc(answer, func(line string) string { return fresh[strings.SplitN(line, ":", 2)[0]] })
	must(pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: sdp}))
	return status
}

// ask returns the status, the session's URL and the answer.
func ask(method, url, contentType, body string) (int, string, string) {
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	must(err)
	if body != "" {
		request.Header.Set("Content-Type", contentType)
	}
	if method == "PATCH" {
		request.Header.Set("If-Match", "*")
	}
	response, err := http.DefaultClient.Do(request)
	must(err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	must(err)
	session := ""
	if location, err := response.Location(); err == nil {
		session = location.String()
	}
	return response.StatusCode, session, string(text)
}
