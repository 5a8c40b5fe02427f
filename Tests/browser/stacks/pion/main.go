// Somebody in a room by Pion, with the signalling of docs/protocol.md written out by hand.
//
//	pion URL ROOM NAME SECONDS PICTURE.ivf
//
// Publishes the picture (VP8) again and again, and silence (Opus), receives everybody, and prints a JSON object a line:
// {"event", …} as the server sends them, {"received": {NAME: {"audio": PACKETS, "video": PACKETS}}} each second.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"github.com/pion/rtcp"
	"github.com/pion/webrtc/v3"
	"github.com/pion/webrtc/v3/pkg/media"
	"github.com/pion/webrtc/v3/pkg/media/ivfreader"
)

type message struct {
	ID     *int            `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

type track struct {
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
}

func say(words map[string]interface{}) {
	line, _ := json.Marshal(words)
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
	must(p.socket.WriteJSON(map[string]interface{}{"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
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
	var params map[string]interface{}
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
	pc, err := webrtc.NewPeerConnection(webrtc.Configuration{})
	must(err)
	video, err := webrtc.NewTrackLocalStaticSample(webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeVP8}, "video", p.name)
	must(err)
	audio, err := webrtc.NewTrackLocalStaticSample(webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeOpus}, "audio", p.name)
	must(err)
	for _, local := range []webrtc.TrackLocal{video, audio} {
		sender, err := pc.AddTrack(local)
		must(err)
		go func() { // reads reports, which keeps the interceptors going
			for {
				if _, _, err := sender.ReadRTCP(); err != nil {
					return
				}
			}
		}()
	}
	offer, err := pc.CreateOffer(nil)
	must(err)
	must(pc.SetLocalDescription(offer))
	tracks := []map[string]string{}
	for _, transceiver := range pc.GetTransceivers() {
		tracks = append(tracks, map[string]string{"mid": transceiver.Mid(), "kind": transceiver.Kind().String()})
	}
	reply := p.request("pc.offer", map[string]interface{}{"pc": "publish", "sdp": pc.LocalDescription().SDP, "tracks": tracks})
	var answer struct {
		SDP    string
		Tracks []track
	}
	must(json.Unmarshal(reply, &answer))
	say(map[string]interface{}{"published": len(answer.Tracks)})
	must(pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: answer.SDP}))
	go write(video, frames(p.picture), time.Second/15)
	go write(audio, [][]byte{{0xf8, 0xff, 0xfe}}, 20*time.Millisecond)
}

// frames reads a file of which the first frame is a keyframe.
func frames(path string) [][]byte {
	file, err := os.Open(path)
	must(err)
	defer file.Close()
	reader, _, err := ivfreader.NewWith(file)
	must(err)
	all := [][]byte{}
	for {
		frame, _, err := reader.ParseNextFrame()
		if err == io.EOF {
			return all
		}
		must(err)
		all = append(all, frame)
	}
}

func write(to *webrtc.TrackLocalStaticSample, frames [][]byte, every time.Duration) {
	index := 0
	for range time.Tick(every) {
		_ = to.WriteSample(media.Sample{Data: frames[index%len(frames)], Duration: every})
		index++
	}
}

// Receiving: the server offers, again whenever something changes.
func (p *person) receive() {
	pc, err := webrtc.NewPeerConnection(webrtc.Configuration{})
	must(err)
	pc.OnConnectionStateChange(func(state webrtc.PeerConnectionState) { say(map[string]interface{}{"subscribe": state.String()}) })
	pc.OnTrack(func(remote *webrtc.TrackRemote, receiver *webrtc.RTPReceiver) {
		mid := ""
		for _, transceiver := range pc.GetTransceivers() {
			if transceiver.Receiver() == receiver {
				mid = transceiver.Mid()
			}
		}
		if remote.Kind() == webrtc.RTPCodecTypeVideo {
			_ = pc.WriteRTCP([]rtcp.Packet{&rtcp.PictureLossIndication{MediaSSRC: uint32(remote.SSRC())}})
		}
		for {
			if _, _, err := remote.ReadRTP(); err != nil {
				return
			}
			p.count(mid)
		}
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
		p.request("pc.answer", map[string]interface{}{"offerId": offer.OfferID, "sdp": pc.LocalDescription().SDP})
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

func main() {
	seconds, err := strconv.ParseFloat(os.Args[4], 64)
	must(err)
	socket, _, err := websocket.DefaultDialer.Dial(os.Args[1], nil)
	must(err)
	p := &person{
		room: os.Args[2], name: os.Args[3], picture: os.Args[5], socket: socket, offers: make(chan json.RawMessage, 64), waiting: map[int]chan message{},
		people: map[string]string{}, owners: map[string]track{}, received: map[string]map[string]int{},
	}
	go p.read()
	go p.receive()
	p.request("session.hello", map[string]interface{}{
		"user": p.name + "-" + p.room, "deviceId": "pion", "displayName": p.name, "capabilities": map[string]bool{"freshLines": true},
	})
	var snapshot struct{ Participants []participant }
	must(json.Unmarshal(p.request("room.join", map[string]string{"room": p.room}), &snapshot))
	for _, one := range snapshot.Participants {
		p.know(one)
	}
	p.publish()
	end := time.After(time.Duration(seconds * float64(time.Second)))
	for range time.Tick(time.Second) {
		select {
		case <-end:
			p.request("session.bye", map[string]string{})
			return
		default:
			p.mutex.Lock()
			named := map[string]map[string]int{}
			for owner, kinds := range p.received {
				named[p.people[owner]] = kinds
			}
			say(map[string]interface{}{"received": named})
			p.mutex.Unlock()
		}
	}
}
