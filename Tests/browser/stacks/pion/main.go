// Somebody in a room by Pion, with the signalling of docs/protocol.md written out by hand.
//
//	pion [listen] URL ROOM NAME SECONDS PICTURE.ivf
//
// Publishes the picture (VP8) again and again, and silence (Opus), unless it only listens; receives everybody, and prints a JSON object a line:
// {"event", …} as the server sends them, {"received": {NAME: {"audio": PACKETS, "video": PICTURES}}} each second, of pictures those that
// came whole: Pion has no decoder. Does what stands on a line of its input: mute, unmute, leave.
//
//	pion publish|play URL SECONDS PICTURE.ivf
//
// does the same by WHIP or WHEP (http.go).
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"github.com/pion/webrtc/v3"
)

type message struct {
	ID     *int            `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

type track struct {
	TrackID       string `json:"trackId"`
	Mid           string `json:"mid"`
	Kind          string `json:"kind"`
	ParticipantID string `json:"participantId"`
}

type participant struct {
	ParticipantID string `json:"participantId"`
	DisplayName   string `json:"displayName"`
}

type person struct {
	room, name, picture string
	socket              *websocket.Conn
	offers              chan json.RawMessage

	mutex    sync.Mutex
	next     int
	waiting  map[int]chan message
	people   map[string]string
	owners   map[string]track
	received map[string]map[string]int
	tracks   []string
}

type words map[string]interface{}

func say(what words) {
	line, _ := json.Marshal(what)
	fmt.Println(string(line))
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func (p *person) request(method string, params interface{}) json.RawMessage {
	answer := make(chan message, 1)
	p.mutex.Lock()
	p.next++
	id := p.next
	p.waiting[id] = answer
	must(p.socket.WriteJSON(words{"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
	p.mutex.Unlock()
	select {
	case reply := <-answer:
		if reply.Error != nil {
			log.Fatalf("%s: %s", method, reply.Error)
		}
		return reply.Result
	case <-time.After(30 * time.Second):
		log.Fatalf("%s: no answer", method)
		return nil
	}
}

func (p *person) read() {
	for {
		var m message
		if err := p.socket.ReadJSON(&m); err != nil {
			return
		}
		if m.Method != "" {
			p.event(m)
		} else if m.ID != nil {
			p.mutex.Lock()
			answer := p.waiting[*m.ID]
			delete(p.waiting, *m.ID)
			p.mutex.Unlock()
			if answer != nil {
				answer <- m
			}
		}
	}
}

func (p *person) event(m message) {
	if m.Method == "pc.offer" {
		p.offers <- m.Params
		return
	}
	if m.Method == "room.participantJoined" {
		var joined struct{ Participant participant }
		must(json.Unmarshal(m.Params, &joined))
		p.know(joined.Participant)
	}
	var params words
	must(json.Unmarshal(m.Params, &params))
	params["event"] = m.Method
	say(params)
}

func (p *person) know(one participant) {
	p.mutex.Lock()
	p.people[one.ParticipantID] = one.DisplayName
	p.mutex.Unlock()
}

// Publishing: the client offers.
func (p *person) publish() {
	pc, start := sending(p.name)
	tracks := []map[string]string{}
	for _, transceiver := range pc.GetTransceivers() {
		tracks = append(tracks, map[string]string{"mid": transceiver.Mid(), "kind": transceiver.Kind().String()})
	}
	reply := p.request("pc.offer", words{"pc": "publish", "sdp": pc.LocalDescription().SDP, "tracks": tracks})
	var answer struct {
		SDP    string
		Tracks []track
	}
	must(json.Unmarshal(reply, &answer))
	say(words{"published": len(answer.Tracks)})
	must(pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: answer.SDP}))
	for _, one := range answer.Tracks {
		p.tracks = append(p.tracks, one.TrackID)
	}
	start(p.picture)
}

// Receiving: the server offers, again whenever something changes.
func (p *person) receive() {
	pc, err := webrtc.NewPeerConnection(webrtc.Configuration{})
	must(err)
	pc.OnConnectionStateChange(func(state webrtc.PeerConnectionState) { say(words{"subscribe": state.String()}) })
	pc.OnTrack(func(remote *webrtc.TrackRemote, receiver *webrtc.RTPReceiver) {
		mid := ""
		for _, transceiver := range pc.GetTransceivers() {
			if transceiver.Receiver() == receiver {
				mid = transceiver.Mid()
			}
		}
		receive(pc, remote, func() { p.count(mid) })
	})
	for text := range p.offers {
		var offer struct {
			OfferID int `json:"offerId"`
			SDP     string
			Tracks  []track
		}
		must(json.Unmarshal(text, &offer))
		p.mutex.Lock()
		for _, one := range offer.Tracks {
			p.owners[one.Mid] = one
		}
		p.mutex.Unlock()
		must(pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeOffer, SDP: offer.SDP}))
		answer, err := pc.CreateAnswer(nil)
		must(err)
		must(pc.SetLocalDescription(answer))
		p.request("pc.answer", words{"offerId": offer.OfferID, "sdp": pc.LocalDescription().SDP})
	}
}

func (p *person) count(mid string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	owner := p.owners[mid]
	if p.received[owner.ParticipantID] == nil {
		p.received[owner.ParticipantID] = map[string]int{}
	}
	p.received[owner.ParticipantID][owner.Kind]++
}

// obey does what stands on each line of the input, until it is to leave.
func (p *person) obey(left chan struct{}) {
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		if input.Text() == "leave" {
			close(left)
			return
		}
		for _, one := range p.tracks {
			p.request("track."+input.Text(), words{"trackId": one})
		}
		say(words{"done": input.Text()})
	}
}

func main() {
	if os.Args[1] == "publish" || os.Args[1] == "play" {
		byHTTP(os.Args[1], os.Args[2], seconds(os.Args[3]), os.Args[4])
		return
	}
	listens := os.Args[1] == "listen"
	given := os.Args[len(os.Args)-5:]
	inRoom(given[0], given[1], given[2], seconds(given[3]), given[4], listens)
}

func seconds(text string) <-chan time.Time {
	number, err := strconv.ParseFloat(text, 64)
	must(err)
	return time.After(time.Duration(number * float64(time.Second)))
}

func inRoom(url, room, name string, end <-chan time.Time, picture string, listens bool) {
	socket, _, err := websocket.DefaultDialer.Dial(url, nil)
	must(err)
	p := &person{
		room: room, name: name, picture: picture, socket: socket, offers: make(chan json.RawMessage, 64), waiting: map[int]chan message{},
		people: map[string]string{}, owners: map[string]track{}, received: map[string]map[string]int{},
	}
	go p.read()
	go p.receive()
	p.request("session.hello", words{
		"user": p.name + "-" + p.room, "deviceId": "pion", "displayName": p.name, "capabilities": map[string]bool{"freshLines": true},
	})
	var snapshot struct{ Participants []participant }
	must(json.Unmarshal(p.request("room.join", words{"room": p.room}), &snapshot))
	for _, one := range snapshot.Participants {
		p.know(one)
	}
	if !listens {
		p.publish()
	}
	left := make(chan struct{})
	go p.obey(left)
	for range time.Tick(time.Second) {
		select {
		case <-end:
		case <-left:
		default:
			p.tell()
			continue
		}
		p.request("session.bye", words{})
		return
	}
}

func (p *person) tell() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	// Whoever comes back has another participantId.
	named := map[string]map[string]int{}
	for owner, kinds := range p.received {
		name := p.people[owner]
		if named[name] == nil {
			named[name] = map[string]int{}
		}
		for kind, count := range kinds {
			named[name][kind] += count
		}
	}
	say(words{"received": named})
}
