package page

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"html/template"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"slices"

	"fairlead.dev/fairlead/report"
)

// The heat map: every node as a cell whose colour says how full it is. The page
// holds the last moment as a PNG with a pixel a node, and all moments, still
// compressed, for page.js, which draws the one that the slider asks for.

// heatSection is the heat maps of the page.
type heatSection struct {
	None, How string
	Maps      []heatMap
	Size      string // as of panels
	Legend    []legendCell
}

// heatMap is the static picture of one experiment.
type heatMap struct {
	Number        int
	Name          string
	Picture       template.URL
	Columns, Rows int
	Summary       string
	At            string
}

// legendCell is a colour of the legend with what it stands for.
type legendCell struct{ Fill, Name string }

// heatData is what page.js draws from.
type heatData struct {
	// Palette is the colour of each byte of Fill, as in "00224e".
	Palette []string  `json:"palette"`
	Names   []string  `json:"names"` // lists of names, compressed
	Runs    []heatRun `json:"runs"`
}

// heatRun is one map over time.
type heatRun struct {
	Name    string          `json:"name"`
	Times   []report.Number `json:"times"`
	Nodes   int             `json:"nodes"`
	Columns int             `json:"columns"`
	Fill    string          `json:"fill"`
	Names   int             `json:"names"` // which of the lists of names
}

// heatOnPage is how many bytes of the page the heat maps may take in all; if
// they are longer, moments are left out.
const heatOnPage = 1_800_000

// fullByte is the byte of a node that is just full.
const fullByte = 201

// heatOf draws Run.Heat of the first seed of each experiment.
func heatOf(d *island, groups []report.Group) (heatSection, error) {
	s := heatSection{How: "Each cell is a node, in the order of the cluster; its colour is the largest share of any resource kind that tasks hold on it. " +
		"Evenly dark cells mean that the load is spread; bright cells beside dark ones mean that it is packed."}
	data := &heatData{Palette: palette()}
	total := 0
	for _, e := range groups {
		if h := e.Runs[0].Heat; usable(h) {
			total += len(h.Fill)
		}
	}
	for _, e := range groups {
		h := e.Runs[0].Heat
		if !usable(h) {
			continue
		}
		fill, err := decode(h)
		if err != nil {
			return s, fmt.Errorf("page: the heat map of policy %s, seed %d: %w", e.Runs[0].Policy, e.Runs[0].Seed, err)
		}
		m, err := lastMoment(e.Name, h, fill)
		if err != nil {
			return s, err
		}
		m.Number = len(s.Maps)
		s.Maps = append(s.Maps, m)
		run := heatRun{Name: e.Name, Times: h.Times, Nodes: h.Nodes, Columns: m.Columns, Fill: h.Fill}
		if total > heatOnPage {
			if err := run.leaveOut(fill, (total+heatOnPage-1)/heatOnPage); err != nil {
				return s, err
			}
		}
		run.Names = slices.Index(data.Names, h.Names)
		if run.Names < 0 {
			run.Names = len(data.Names)
			data.Names = append(data.Names, h.Names)
		}
		data.Runs = append(data.Runs, run)
	}
	if len(s.Maps) == 0 {
		s.None = "These results hold no heat map: they were written by a version of fairlead that did not record one, or the cluster had no nodes."
		return s, nil
	}
	for _, e := range groups {
		if len(e.Runs) > 1 {
			s.How += " Of several seeds the first is shown."
			break
		}
	}
	s.Size = sizeOfLarge(len(s.Maps))
	s.Legend = heatLegend(data.Palette)
	d.Heat = data
	return s, nil
}

func usable(h *report.Heat) bool { return h != nil && h.Nodes > 0 && len(h.Times) > 0 }

// mostFill is how many bytes of Fill are unpacked; pictures of a million nodes have less.
const mostFill = 1 << 26

// decode returns the bytes of Fill.
func decode(h *report.Heat) ([]byte, error) {
	if h.Nodes > mostFill/len(h.Times) {
		return nil, fmt.Errorf("%d nodes at %d moments are more than the %d bytes that are read", h.Nodes, len(h.Times), mostFill)
	}
	r, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader([]byte(h.Fill))))
	if err != nil {
		return nil, err
	}
	want := h.Nodes * len(h.Times)
	fill, err := io.ReadAll(io.LimitReader(r, int64(want)+1))
	if err != nil {
		return nil, err
	}
	if len(fill) != want {
		return nil, fmt.Errorf("there are %d bytes, want %d: one for each of %d nodes at %d moments", len(fill), want, h.Nodes, len(h.Times))
	}
	return fill, nil
}

// leaveOut keeps one moment of every so many, the last one among them.
func (r *heatRun) leaveOut(fill []byte, every int) error {
	var times []report.Number
	var kept []byte
	for i := range r.Times {
		if (len(r.Times)-1-i)%every == 0 {
			times = append(times, r.Times[i])
			kept = append(kept, fill[i*r.Nodes:(i+1)*r.Nodes]...)
		}
	}
	var text bytes.Buffer
	encoder := base64.NewEncoder(base64.StdEncoding, &text)
	w, err := gzip.NewWriterLevel(encoder, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := w.Write(kept); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	if err := encoder.Close(); err != nil {
		return err
	}
	r.Times, r.Fill = times, text.String()
	return nil
}

// lastMoment draws the end of a run.
func lastMoment(name string, h *report.Heat, fill []byte) (heatMap, error) {
	columns := int(math.Ceil(math.Sqrt(2.4 * float64(h.Nodes))))
	rows := (h.Nodes + columns - 1) / columns
	var colours color.Palette
	for _, hex := range palette() {
		colours = append(colours, colourOf(hex))
	}
	colours[0] = color.NRGBA{}
	picture := image.NewPaletted(image.Rect(0, 0, columns, rows), colours)
	last := fill[len(fill)-h.Nodes:]
	copy(picture.Pix, last)
	var text bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&text, picture); err != nil {
		return heatMap{}, err
	}
	there, empty, full := 0, 0, 0
	for _, b := range last {
		switch {
		case b == 0:
			continue
		case b == 1:
			empty++
		case b >= fullByte:
			full++
		}
		there++
	}
	return heatMap{
		Name: name, Columns: columns, Rows: rows,
		Picture: template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(text.Bytes())), //nolint:gosec // it is base64
		At:      nameOfSeconds(float64(h.Times[len(h.Times)-1])),
		Summary: fmt.Sprintf("%s nodes: %s empty, %s full or over", wholeNumber(there), wholeNumber(empty), wholeNumber(full)),
	}, nil
}

// The colours run from dark blue to yellow as cividis does (Nuñez et al.,
// 2018), which readers with any colour vision see alike; over-full nodes leave
// it for red, the more the darker.
func palette() []string {
	cividis := []string{"00224e", "1b3a6d", "414d6b", "606270", "7c7b78", "9b9476", "bdaf6f", "dfcb5f", "fee838"}
	over := []string{"e4572e", "9e1b32"}
	all := make([]string, 256)
	all[0] = "000000"
	for b := 1; b < len(all); b++ {
		if b <= fullByte {
			all[b] = between(cividis, float64(b-1)/(fullByte-1))
		} else {
			all[b] = between(over, float64(b-fullByte)/float64(255-fullByte))
		}
	}
	return all
}

// between returns the colour at a place from 0 to 1 among evenly spaced stops.
func between(stops []string, at float64) string {
	place := at * float64(len(stops)-1)
	i := min(int(place), len(stops)-2)
	a, b := colourOf(stops[i]), colourOf(stops[i+1])
	mix := func(a, b uint8) uint8 {
		return uint8(math.Round(float64(a) + float64((float64(b)-float64(a))*(place-float64(i)))))
	}
	return fmt.Sprintf("%02x%02x%02x", mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B))
}

// colourOf reads six hexadecimal digits.
func colourOf(hex string) color.NRGBA {
	c := color.NRGBA{A: 255}
	if _, err := fmt.Sscanf(hex, "%02x%02x%02x", &c.R, &c.G, &c.B); err != nil {
		panic("page: " + hex + " is no colour: " + err.Error())
	}
	return c
}

// heatLegend is a row of sample colours.
func heatLegend(colours []string) []legendCell {
	var cells []legendCell
	for percent := 0; percent <= 100; percent += 10 {
		c := legendCell{Fill: "#" + colours[1+2*percent]}
		if percent%50 == 0 {
			c.Name = fmt.Sprintf("%d%%", percent)
		}
		cells = append(cells, c)
	}
	return append(cells, legendCell{Fill: "#" + colours[(fullByte+255)/2], Name: "over"})
}
