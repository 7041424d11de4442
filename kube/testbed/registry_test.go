package testbed

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// What the registry serves is an image whose digests are all true: containerd
// would refuse it otherwise, and say so in another process's log.
func TestRegistryServesAnImage(t *testing.T) {
	images := &registry{}
	server := httptest.NewServer(images)
	defer server.Close()
	address := server.Listener.Addr().String()
	i, err := newImage(address+"/some:1", []byte("a program"), 1000)
	if err != nil {
		t.Fatal(err)
	}
	images.serve(i)
	get := func(path string) []byte {
		response, err := http.Get(server.URL + "/v2/some/" + path)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s, %v", path, response.Status, err)
		}
		return body
	}
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	unpack(t, get("manifests/1"), &manifest)
	var config struct {
		RootFS struct {
			Diffs []string `json:"diff_ids"`
		}
	}
	unpack(t, get("blobs/"+manifest.Config.Digest), &config)
	layer := get("blobs/" + manifest.Layers[0].Digest)
	if got := digestOf(layer); got != manifest.Layers[0].Digest || len(layer) != manifest.Layers[0].Size {
		t.Errorf("the layer is %s with %d bytes, the manifest says %+v", got, len(layer), manifest.Layers[0])
	}
	zip, err := gzip.NewReader(bytes.NewReader(layer))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(zip)
	if err != nil {
		t.Fatal(err)
	}
	if got := digestOf(plain); got != config.RootFS.Diffs[0] {
		t.Errorf("the unpacked layer is %s, the configuration says %s", got, config.RootFS.Diffs[0])
	}
}

func unpack(t *testing.T, text []byte, to any) {
	t.Helper()
	if err := json.Unmarshal(text, to); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

func digestOf(blob []byte) string {
	sum := sha256.Sum256(blob)
	return "sha256:" + hex.EncodeToString(sum[:])
}
