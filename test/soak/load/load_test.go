// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/test/soak/counters"
)

// shelf is an API server as far as a load sees one: it stores objects by path, and refuses what has
// a name for that.
type shelf struct {
	mu      sync.Mutex
	objects map[string]object
	asked   []string
	most    int // objects at one time
	away    bool
}

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r.Method+" "+r.URL.Path)
	if s.away {
		http.Error(w, "etcdserver: no leader", http.StatusInternalServerError)
		return
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/") // apis group version namespaces ns resource [name]
	version := parts[1] + "/" + parts[2]
	answer := func(code int, o any) {
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(o)
	}
	key := func(name string) string { return parts[5] + "/" + name }
	switch {
	case r.Method == http.MethodPost:
		var o object
		raw, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(raw, &o)
		name := o["metadata"].(map[string]any)["name"].(string)
		if strings.HasPrefix(name, "no-") {
			answer(http.StatusUnprocessableEntity, refusalOf(o))
			return
		}
		if r.URL.Query().Get("dryRun") == "" {
			s.objects[key(name)] = o
			s.most = max(s.most, len(s.objects))
		}
		answer(http.StatusCreated, o)
	case len(parts) == 6:
		items := []object{}
		for at, o := range s.objects {
			if strings.HasPrefix(at, parts[5]+"/") {
				items = append(items, object{"apiVersion": version, "metadata": o["metadata"]})
			}
		}
		answer(http.StatusOK, object{"items": items})
	case s.objects[key(parts[6])] == nil:
		answer(http.StatusNotFound, object{"kind": "Status", "message": "not found"})
	default:
		o := s.objects[key(parts[6])]
		if r.Method == http.MethodDelete {
			delete(s.objects, key(parts[6]))
		}
		answer(http.StatusOK, object{"apiVersion": version, "kind": o["kind"], "metadata": o["metadata"], "spec": o["spec"]})
	}
}

// refusalOf has the words that the load wants of an object that must be refused.
func refusalOf(o object) object {
	for _, k := range kinds {
		for _, r := range k.refused {
			want, _ := json.Marshal(r.spec)
			if got, _ := json.Marshal(o["spec"]); o["kind"] == k.name && slices.Equal(got, want) {
				return object{"kind": "Status", "message": denied + strings.Join(r.says, " ")}
			}
		}
	}
	return object{"kind": "Status", "message": fmt.Sprintf("%s denied for no known reason", denied)}
}

// plays runs a load against a shelf until so many requests were counted.
func plays(t *testing.T, s *shelf, o Options, until int) counters.Sum {
	t.Helper()
	server := httptest.NewServer(s)
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	o.Config, o.Namespace, o.Counters, o.Rate = &rest.Config{Host: server.URL}, "soak", counters.New(), 1e5
	done := make(chan error, 1)
	go func() { done <- Run(ctx, o) }()
	for o.Counters.Sent() < until {
		select {
		case err := <-done:
			t.Fatalf("the load ended by itself: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	return o.Counters.Sum()
}

func TestALoadSendsEveryKindOfRequestAndKeepsItsObjectsFew(t *testing.T) {
	s := &shelf{objects: map[string]object{}}
	sum := plays(t, s, Options{Seed: 7, Workers: 3, Objects: 2}, 1200)
	if sum.Failed+sum.Unavailable > 0 {
		t.Errorf("of %d requests %d failed and %d were unavailable: %+v", sum.Sent, sum.Failed, sum.Unavailable, sum.Reasons)
	}
	for _, what := range []string{"create", "patch", "apply", "update", "get", "delete", "dry run", "invalid"} {
		for _, version := range []string{hubVersion, spokeVersion} {
			if sum.Kinds[what+" "+version] == 0 {
				t.Errorf("no %s at %s in %v", what, version, sum.Kinds)
			}
		}
	}
	if sum.Kinds["list "+spokeVersion] == 0 {
		t.Errorf("no list in %v", sum.Kinds)
	}
	if most := 3 * 2 * len(kinds); s.most > most {
		t.Errorf("%d objects at one time, of %d", s.most, most)
	}
}

func TestWhatIsSentFollowsFromTheSeed(t *testing.T) {
	asked := func(seed uint64) []string {
		s := &shelf{objects: map[string]object{}}
		plays(t, s, Options{Seed: seed, Workers: 1}, 300)
		return s.asked[:300]
	}
	if !slices.Equal(asked(1), asked(1)) {
		t.Error("the same seed sent something else")
	}
	if slices.Equal(asked(1), asked(2)) {
		t.Error("another seed sent the same")
	}
}

func TestAnAPIServerThatIsAwayIsNotAFailure(t *testing.T) {
	s := &shelf{objects: map[string]object{}, away: true}
	sum := plays(t, s, Options{Workers: 2}, 4)
	if sum.Failed != 0 || sum.Unavailable != sum.Sent {
		t.Errorf("of %d requests %d failed and %d were unavailable: %+v", sum.Sent, sum.Failed, sum.Unavailable, sum.Reasons)
	}
}

func TestOptionsThatAreMissingAreAnError(t *testing.T) {
	if err := Run(t.Context(), Options{}); err == nil || !strings.Contains(err.Error(), "required") {
		t.Errorf("error: %v", err)
	}
}
