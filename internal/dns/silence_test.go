// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// asks looks up one family.
func asks(t *testing.T, r *Resolver, name string) {
	t.Helper()
	l := &lookup{Resolver: r}
	l.bytesLeft.Store(maxBytes)
	if _, err := l.query(t.Context(), name, dns.TypeA); err != nil {
		t.Fatal(err)
	}
}

// about returns how often a server was queried about a name.
func (s *nameserver) about(name string) int {
	n := 0
	for _, query := range s.asked() {
		if strings.HasSuffix(query, " "+name) {
			n++
		}
	}
	return n
}

func TestAServerThatIsSilentIsAskedLastForAWhile(t *testing.T) {
	var now atomic.Int64
	first, second := serve(t).with(mute), serve(t, "db.example.com. 60 A 192.0.2.1", "web.example.com. 60 A 192.0.2.2")
	r := told(first, second)
	r.silences.now = func() time.Time { return time.Unix(now.Load(), 0) }
	for _, step := range []struct {
		at, db, web int
		name        string
	}{{0, 1, 0, "db.example.com."}, {1, 1, 0, "db.example.com."}, {2, 1, 0, "web.example.com."}, {29, 1, 0, "db.example.com."}, {31, 2, 0, "db.example.com."}} {
		now.Store(int64(step.at))
		asks(t, r, step.name)
		if db, web := first.about("db.example.com."), first.about("web.example.com."); db != step.db || web != step.web {
			t.Errorf("at %ds the silent server was asked %d and %d times, want %d and %d", step.at, db, web, step.db, step.web)
		}
	}
}

func TestAServerThatIsSilentAboutOneNameIsAskedLastForThatNameAlone(t *testing.T) {
	records := []string{"rogue.example.com. 60 A 192.0.2.1", "db.example.com. 60 A 192.0.2.2"}
	first, second := serve(t, records...), serve(t, records...)
	first.with(func(w dns.ResponseWriter, query *dns.Msg) bool {
		return query.Question[0].Name == "rogue.example.com." && mute(w, query)
	})
	r := told(first, second)
	for range 5 {
		asks(t, r, "rogue.example.com.")
		asks(t, r, "db.example.com.")
	}
	if got := first.about("rogue.example.com."); got != 1 {
		t.Errorf("the first server was asked %d times for the name that it drops, want once", got)
	}
	if got := second.about("db.example.com."); got != 0 {
		t.Errorf("the second server was asked %d times for a name that the first one serves", got)
	}
	if got := first.about("."); got != 1 {
		t.Errorf("the first server was asked for the root %d times, want once", got)
	}
}

func TestOnlySoManyNamesAreRememberedWithAServer(t *testing.T) {
	s := &silences{now: time.Now}
	server := serve(t).at
	for i := range 2*maxSilences + 1 {
		s.recordSilence(server, strings.Repeat("x", i%60)+time.Duration(i).String())
	}
	if len(s.of) > maxSilences {
		t.Errorf("%d names are remembered", len(s.of))
	}
}
