package testbed

import (
	"bytes"
	"net/http"
	"strings"
	"sync"
	"time"
)

// registry serves one image at a time, by the part of the OCI distribution
// specification 1.1 that pulling needs: a manifest by tag or digest, blobs by
// digest.
type registry struct {
	mu      sync.Mutex
	current image
}

// serve forgets the image before, whose layers may be large.
func (r *registry) serve(i image) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.current = i
}

// ServeHTTP answers /v2/NAME/manifests/TAG and /v2/NAME/blobs/DIGEST.
func (r *registry) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	i := r.current
	r.mu.Unlock()
	_, repository, _ := strings.Cut(i.name, "/") // after the address
	repository, tag, _ := strings.Cut(repository, ":")
	what, _ := strings.CutPrefix(request.URL.Path, "/v2/"+repository+"/")
	kind, digest, _ := strings.Cut(what, "/")
	if digest == tag {
		digest = i.manifest.Digest
	}
	blob, ok := i.blobs[digest]
	if !ok {
		http.NotFound(w, request)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	if kind == "manifests" {
		w.Header().Set("Content-Type", i.manifest.MediaType)
	}
	w.Header().Set("Docker-Content-Digest", digest)
	http.ServeContent(w, request, "", time.Time{}, bytes.NewReader(blob))
}
