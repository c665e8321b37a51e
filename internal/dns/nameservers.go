// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// recheck is how often the file is checked for changes.
	recheck = 5 * time.Second
	// maxFile limits what is read of it, in bytes.
	maxFile = 64 << 10
	dnsPort = 53
)

// nameservers are the servers to query: configured ones, or those of a file that may change.
type nameservers struct {
	path string
	now  func() time.Time

	mu       sync.Mutex
	checked  time.Time
	lastRead fs.FileInfo
	servers  []netip.AddrPort
}

func newNameservers(o Options) *nameservers {
	n := &nameservers{path: o.ResolvConf, now: o.Now, servers: slices.Clone(o.Nameservers)}
	if len(n.servers) > maxServers {
		n.servers = n.servers[:maxServers]
	}
	if len(n.servers) > 0 {
		n.path = ""
	}
	return n
}

// list returns the servers to query. A file that is gone, or has no nameserver any more, changes nothing: it is
// probably being written.
func (n *nameservers) list() ([]netip.AddrPort, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.now()
	if n.path == "" || (len(n.servers) > 0 && now.Sub(n.checked) < recheck) {
		return n.servers, nil
	}
	n.checked = now
	servers, err := n.readFile()
	switch {
	case len(servers) > 0:
		n.servers = servers
	case len(n.servers) > 0:
	case err != nil:
		return nil, fmt.Errorf("no nameserver: %w; set externalServices.nameservers", err)
	default:
		return nil, fmt.Errorf("no nameserver in %s; add one, or set externalServices.nameservers", n.path)
	}
	return n.servers, nil
}

// readFile returns the nameservers of the file, and nothing if it has not changed since it was read.
func (n *nameservers) readFile() (servers []netip.AddrPort, err error) {
	info, err := os.Stat(n.path)
	if err != nil {
		return nil, err
	}
	if n.lastRead != nil && os.SameFile(info, n.lastRead) && info.ModTime().Equal(n.lastRead.ModTime()) && info.Size() == n.lastRead.Size() {
		return nil, nil
	}
	file, err := os.Open(n.path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if servers, err = parseResolvConf(io.LimitReader(file, maxFile)); err != nil || len(servers) == 0 {
		return nil, err
	}
	n.lastRead = info
	return servers, nil
}

// parseResolvConf returns the nameservers, each once. Lines that are not valid are skipped, as the C library does.
func parseResolvConf(from io.Reader) ([]netip.AddrPort, error) {
	var servers []netip.AddrPort
	lines := bufio.NewScanner(from)
	for lines.Scan() && len(servers) < maxServers {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 || fields[0] != "nameserver" {
			continue
		}
		address, err := netip.ParseAddr(fields[1])
		if err != nil {
			continue
		}
		if server := netip.AddrPortFrom(address, dnsPort); !slices.Contains(servers, server) {
			servers = append(servers, server)
		}
	}
	return servers, lines.Err()
}
