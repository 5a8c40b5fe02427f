// The picture and the silence that are sent, and the whole pictures and packets of sound that come.
package main

import (
	"io"
	"os"
	"strconv"
	"time"

	"github.com/pion/rtcp"
	"github.com/pion/rtp/codecs"
	"github.com/pion/webrtc/v3"
	"github.com/pion/webrtc/v3/pkg/media"
	"github.com/pion/webrtc/v3/pkg/media/ivfreader"
	"github.com/pion/webrtc/v3/pkg/media/samplebuilder"
)

// pictures that are sent, a second.
var pictures = func() time.Duration {
	number, err := strconv.Atoi(os.Getenv("STACK_PICTURES"))
	if err != nil {
		return 15
	}
	return time.Duration(number)
}()

// sending makes a connection that publishes, with its offer set; start begins to send the picture in a file.
func sending(name string) (pc *webrtc.PeerConnection, start func(picture string)) {
	pc, err := webrtc.NewPeerConnection(webrtc.Configuration{})
	must(err)
	video, err := webrtc.NewTrackLocalStaticSample(webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeVP8}, "video", name)
	must(err)
	audio, err := webrtc.NewTrackLocalStaticSample(webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeOpus}, "audio", name)
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
	return pc, func(picture string) {
		go write(video, frames(picture), time.Second/pictures)
		go write(audio, [][]byte{{0xf8, 0xff, 0xfe}}, 20*time.Millisecond)
	}
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

// receive counts whole pictures from the first keyframe on, or packets of sound, until the track ends. Pion takes no retransmissions
// (RTX), so after a loss it is a keyframe with which pictures go on.
func receive(pc *webrtc.PeerConnection, remote *webrtc.TrackRemote, count func()) {
	if remote.Kind() == webrtc.RTPCodecTypeAudio {
		for {
			if _, _, err := remote.ReadRTP(); err != nil {
				return
			}
			count()
		}
	}
	var builder *samplebuilder.SampleBuilder
	hasKey, last := false, uint16(0)
	for {
		packet, _, err := remote.ReadRTP()
		if err != nil {
			return
		}
		step := packet.SequenceNumber - last
		if builder != nil && step >= 1<<15 {
			continue // one that was late
		}
		last = packet.SequenceNumber
		if builder == nil || step > 1 {
			builder, hasKey = samplebuilder.New(256, &codecs.VP8Packet{}, remote.Codec().ClockRate), false
			_ = pc.WriteRTCP([]rtcp.Packet{&rtcp.PictureLossIndication{MediaSSRC: uint32(remote.SSRC())}})
		}
		builder.Push(packet)
		for sample := builder.Pop(); sample != nil; sample = builder.Pop() {
			// The first bit of a frame is 0 in a keyframe (RFC 6386, section 9.1).
			if hasKey = hasKey || sample.Data[0]&1 == 0; hasKey {
				count()
			}
		}
	}
}
