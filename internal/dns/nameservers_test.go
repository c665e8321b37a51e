// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestNameserversOfResolvConf(t *testing.T) {
	for name, test := range map[string]struct {
		file string
		want []string
	}{
		"usual":    {"search shop.svc.cluster.local\nnameserver 192.0.2.53\noptions ndots:5\n", []string{"192.0.2.53:53"}},
		"several":  {"nameserver 192.0.2.53\n nameserver\t2001:db8::53 # two\nnameserver fe80::1%eth0", []string{"192.0.2.53:53", "[2001:db8::53]:53", "[fe80::1%eth0]:53"}},
		"twice":    {"nameserver 192.0.2.53\nnameserver 192.0.2.53\n", []string{"192.0.2.53:53"}},
		"nonsense": {"nameserver\nnameserver dns.example.com\n#nameserver 192.0.2.1\nnameservers 192.0.2.1\n;nameserver 192.0.2.1\n", nil},
	} {
		got, err := parseResolvConf(strings.NewReader(test.file))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var texts []string
		for _, server := range got {
			texts = append(texts, server.String())
		}
		if !slices.Equal(texts, test.want) {
			t.Errorf("%s: %v, want %v", name, texts, test.want)
		}
	}
}

func TestNoMoreThanEightNameserversAreTaken(t *testing.T) {
	var file strings.Builder
	for ip := netip.MustParseAddr("192.0.2.1"); ip.As4()[3] < 20; ip = ip.Next() {
		file.WriteString("nameserver " + ip.String() + "\n")
	}
	got, err := parseResolvConf(strings.NewReader(file.String()))
	if err != nil || len(got) != maxServers || got[0].Addr().String() != "192.0.2.1" {
		t.Errorf("got %v (%v), want the first %d", got, err, maxServers)
	}
}

func TestResolvConfIsReadAgainWhenItChanges(t *testing.T) {
	now := time.Unix(1000, 0)
	path := filepath.Join(t.TempDir(), "resolv.conf")
	n := newNameservers(Options{ResolvConf: path, Now: func() time.Time { return now }})
	write := func(text string, modified time.Time) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, modified, modified); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(want string) {
		t.Helper()
		got, err := n.list()
		if err != nil || len(got) != 1 || got[0].Addr().String() != want {
			t.Errorf("got %v (%v), want %s", got, err, want)
		}
	}
	if _, err := n.list(); err == nil || !strings.Contains(err.Error(), "externalServices.nameservers") {
		t.Errorf("without a file: %v, want what to do", err)
	}
	write("# none yet\n", time.Unix(1, 0))
	if _, err := n.list(); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("without a nameserver: %v, want where it is missing", err)
	}
	write("nameserver 192.0.2.1\n", time.Unix(2, 0))
	expect("192.0.2.1")
	write("nameserver 192.0.2.2\n", time.Unix(3, 0))
	now = now.Add(4 * time.Second)
	expect("192.0.2.1")
	now = now.Add(time.Second)
	expect("192.0.2.2")
	write("", time.Unix(4, 0))
	now = now.Add(5 * time.Second)
	expect("192.0.2.2")
	write("nameserver 192.0.2.3\n", time.Unix(4, 0))
	now = now.Add(5 * time.Second)
	expect("192.0.2.3")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	now = now.Add(5 * time.Second)
	expect("192.0.2.3")
}

func TestNoNameserverIsATimeoutThatSaysWhatToDo(t *testing.T) {
	r := New(Options{ResolvConf: filepath.Join(t.TempDir(), "absent")})
	got := look(t, r, "db.example.com")
	if got.IPv4.Outcome != Timeout || got.IPv6.Outcome != Timeout || !strings.Contains(got.Err.Error(), "externalServices.nameservers") {
		t.Errorf("%s, %s (%v)", got.IPv4.Outcome, got.IPv6.Outcome, got.Err)
	}
}

func TestConfiguredNameserversNeedNoFile(t *testing.T) {
	n := newNameservers(Options{Nameservers: slices.Repeat([]netip.AddrPort{netip.MustParseAddrPort("192.0.2.1:53")}, 20), ResolvConf: "/absent", Now: time.Now})
	if got, err := n.list(); err != nil || len(got) != maxServers {
		t.Errorf("%d servers (%v), want %d", len(got), err, maxServers)
	}
}
