// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/externalnet"
)

// often has an address checked every second, and believes two failures and one success.
const often = `interval: 1s, unhealthyInterval: 1s, timeout: 1s, jitterPercent: 0, failureThreshold: 2, successThreshold: 1`

// hasten has names looked up as often as they can be.
const hasten = `resolution: {minTTL: 1s, maxTTL: 2s}`

// applyAll applies ExternalServices, by name, at once.
func (s *suite) applyAll(specs map[string]string) {
	s.Helper()
	var manifest strings.Builder
	for name, spec := range specs {
		manifest.WriteString(s.manifest(name, spec) + "\n---\n")
	}
	s.Apply(manifest.String())
}

// change changes an ExternalService, as a user does, and waits until the operator has seen
// it.
func (s *suite) change(name string, edit func(*networkingv1.ExternalService)) {
	s.Helper()
	s.Must(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		es, err := s.get(name)
		if err != nil {
			return err
		}
		edit(es)
		return s.Client.Update(s.Context(), es)
	}))
	s.Eventually(func() error {
		es, err := s.get(name)
		if err == nil && es.Status.ObservedGeneration != es.Generation {
			err = fmt.Errorf("%s: generation %d is not observed yet, but %d", name, es.Generation, es.Status.ObservedGeneration)
		}
		return err
	})
}

// outlook is the state of an address in status and slices.
type outlook struct {
	health  networkingv1.AddressHealth
	reason  string
	since   time.Time
	in      bool // some slice
	ready   bool
	serving bool
	zone    string
}

func (s *suite) outlook(name, ip string) (outlook, error) {
	es, err := s.get(name)
	if err != nil {
		return outlook{}, err
	}
	var o outlook
	for _, endpoint := range es.Status.Endpoints {
		for _, address := range endpoint.Addresses {
			if address.IP == ip {
				o.health, o.reason = address.Health, address.Reason
				if address.LastTransitionTime != nil {
					o.since = address.LastTransitionTime.Time
				}
			}
		}
	}
	for _, slice := range s.Slices(name) {
		for _, endpoint := range slice.Endpoints {
			if slices.Contains(endpoint.Addresses, ip) {
				o.in, o.zone = true, ptr.Deref(endpoint.Zone, "")
				o.ready, o.serving = ptr.Deref(endpoint.Conditions.Ready, true), ptr.Deref(endpoint.Conditions.Serving, true)
			}
		}
	}
	return o, nil
}

// becomes waits until an address is as given in the status, for the reason given, and stands in the
// slices as ready where it is healthy, and as neither ready nor serving where it is not.
func (s *suite) becomes(name, ip string, health networkingv1.AddressHealth, reason string) outlook {
	s.Helper()
	var last outlook
	s.Eventually(func() error {
		o, err := s.outlook(name, ip)
		if err != nil {
			return err
		}
		last = o
		well := health == networkingv1.AddressHealthy
		if o.health != health || o.reason != reason || !o.in || o.ready != well || o.serving != well {
			return fmt.Errorf("%s: want %s %s %s, and so in the slices; have %+v", name, ip, health, reason, o)
		}
		return nil
	})
	return last
}

// healthy waits until addresses are.
func (s *suite) healthy(name string, ips ...string) {
	s.Helper()
	for _, ip := range ips {
		s.becomes(name, ip, networkingv1.AddressHealthy, networkingv1.ProbeConnected)
	}
}

// set changes how servers conduct themselves.
func (s *suite) set(conduct externalnet.Behavior, servers ...*externalnet.Server) {
	s.Helper()
	for _, server := range servers {
		s.Must(server.Set(conduct))
	}
}

// tcp opens a server that accepts at each of so many new addresses.
func (s *suite) tcp(port, n int) (addresses []string, servers []*externalnet.Server) {
	s.Helper()
	for range n {
		address := s.Servers.Address()
		addresses = append(addresses, address)
		servers = append(servers, s.server(s.Servers.TCP(address+":"+strconv.Itoa(port))))
	}
	return addresses, servers
}

// versions returns the resource versions of all objects of an ExternalService, and the number of events.
func (s *suite) versions(name string) map[string]string {
	s.Helper()
	es, err := s.get(name)
	s.Must(err)
	var service corev1.Service
	s.Must(s.Get(name, &service))
	versions := map[string]string{"externalservice": es.ResourceVersion, "service": service.ResourceVersion}
	for key, version := range sliceVersions(s.Slices(name)) {
		versions[key] = version
	}
	for reason, events := range s.Told("ExternalService", name) {
		versions["event "+reason] = strconv.Itoa(len(events))
	}
	return versions
}

func sliceVersions(all []discoveryv1.EndpointSlice) map[string]string {
	versions := map[string]string{}
	for _, slice := range all {
		versions["slice "+slice.Name] = slice.ResourceVersion
	}
	return versions
}

// figure is the value of a metric of an ExternalService, or "" where it has none.
func (s *suite) figure(metric, name string) string {
	s.Helper()
	prefix := fmt.Sprintf("fairlead_externalservice_%s{name=%q,namespace=%q} ", metric, name, s.Namespace)
	for line := range strings.Lines(s.Figures()) {
		if value, found := strings.CutPrefix(line, prefix); found {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
