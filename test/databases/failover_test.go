// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package databases

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// settings are the ways in which members are checked.
var settings = []struct{ name, fields string }{
	{"defaults", ""},
	{"interval 2s", "interval: 2s"},
	{"interval 1s, both thresholds 1", "interval: 1s, failureThreshold: 1, successThreshold: 1"},
}

// database is a database that fails over.
type database struct {
	port   int
	check  string // fields of spec.healthCheck
	open   func(*suite) (primary, replica member)
	rounds []round
}

// round is one failover.
type round struct {
	event string
	// begin has a replica take over.
	begin func(from, to member)
	// end has the previous primary come back as a replica, unless it has.
	end func(from, to member)
}

var (
	stopped = round{"primary stopped, replica promoted",
		func(from, to member) { from.fail(); to.promote() }, func(from, to member) { from.returnAsReplica(to) }}
	switches = round{"roles switched, both run",
		func(from, to member) { to.(switcher).takeOver(from) }, func(member, member) {}}
)

func TestPostgreSQLFailsOver(t *testing.T) {
	failsOver(t, database{5432, `httpGet: {path: /primary, port: 8008}`, (*suite).newPostgresPair, []round{stopped, stopped, stopped}})
}

func TestRedisFailsOver(t *testing.T) {
	failsOver(t, database{6379, `tcpSocket: {steps: [
		{sendFrom: {prefix: 'AUTH ', secretKeyRef: {name: redis, key: password}, suffix: '\r\n'}, expect: +OK},
		{send: 'ROLE\r\n', expect: master}]}`, (*suite).newRedisPair, []round{switches, switches, stopped}})
}

// The checker is that of Percona's clustercheck: a port of its own, and any path.
func TestMariaDBFailsOver(t *testing.T) {
	failsOver(t, database{3306, `httpGet: {path: /, port: 9200}`, (*suite).newMariaDBPair, []round{switches, stopped, stopped}})
}

// figure is the cost of a failover.
type figure struct {
	event    string
	promoted time.Duration // until the replica takes writes
	switched time.Duration // until the Service has the new primary
	failed   int           // writes until then
	written  time.Duration // until the first write at the new primary
}

// failsOver fails a database over at each of the settings, and prints what it has cost.
func failsOver(t *testing.T, d database) {
	t.Parallel()
	figures := make([][]figure, len(settings))
	t.Run("at", func(t *testing.T) {
		for i, setting := range settings {
			t.Run(setting.name, func(t *testing.T) {
				t.Parallel()
				s := &suite{framework.NewTest(t, open(t))}
				figures[i] = s.failsOver(d, setting.fields)
			})
		}
	})
	var table strings.Builder
	for i, setting := range settings {
		for _, f := range figures[i] {
			fmt.Fprintf(&table, "| %s | %s | %.1f s | %.1f s | %d | %.1f s |\n", f.event, setting.name, f.promoted.Seconds(), f.switched.Seconds(), f.failed, f.written.Seconds())
		}
	}
	t.Logf("\n| what happened | health check | promoted after | Service switched after | failed writes | first write after |\n%s%s",
		"| - | - | - | - | - | - |\n", table.String())
}

func (s *suite) failsOver(d database, fields string) (figures []figure) {
	from, to := d.open(s)
	s.Apply(framework.Text(map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "redis"},
		"stringData": map[string]any{"password": password}}))
	s.Apply(fmt.Sprintf(`{apiVersion: %s, kind: ExternalService, metadata: {name: db}, spec: {ports: [{name: db, port: %d}],
		endpoints: [{name: db-0, addresses: [%s]}, {name: db-1, addresses: [%s], priority: 1}],
		healthCheck: {%s}, failover: {failback: Manual}}}`,
		networkingv1.GroupVersion, d.port, from.at(), to.at(), strings.Join(slices.DeleteFunc([]string{d.check, fields}, func(f string) bool { return f == "" }), ", ")))
	published := s.follow("db")
	writes := s.write(published, from, to)
	s.arrives(writes, from, time.Time{})
	for i, r := range d.rounds {
		began := time.Now()
		r.begin(from, to)
		promoted := time.Since(began)
		figures = append(figures, s.switches(figure{event: r.event, promoted: promoted}, published, writes, to, began))
		if i < len(d.rounds)-1 {
			s.staysAway(published, from, to, r.end)
			from, to = to, from
		}
	}
	s.staysAwayAsPrimary(published, writes, from, to)
	return figures
}

// switches waits until the Service has the new primary and nothing else, and a write has arrived there.
func (s *suite) switches(f figure, published *service, writes *writer, to member, began time.Time) figure {
	s.Helper()
	var at time.Time
	s.Eventually(func() error {
		all := published.since(began)
		last := all[len(all)-1]
		if at = last.at; !slices.Equal(last.addresses, []string{to.at()}) {
			return fmt.Errorf("published is %v, want %s", all, to.at())
		}
		return nil
	})
	first := s.arrives(writes, to, at)
	f.switched, f.written = at.Sub(began), first.began.Sub(began)
	for _, a := range writes.since(began) {
		if a.err != nil && a.began.Before(at) {
			f.failed++
		}
	}
	return f
}

// staysAway has a former primary come back as a replica, waits until it was checked twice, and wants the Service to have the
// new one all the time.
func (s *suite) staysAway(published *service, from, to member, comeBack func(from, to member)) {
	s.Helper()
	began := time.Now()
	comeBack(from, to)
	before := from.checked()
	s.Eventually(func() error {
		if n := from.checked() - before; n < 2 {
			return fmt.Errorf("the previous primary was checked %d times", n)
		}
		return nil
	})
	s.onlyHas(published, to, began)
}

// onlyHas wants a Service to have had one member alone since a time.
func (s *suite) onlyHas(published *service, to member, since time.Time) {
	s.Helper()
	for _, change := range published.since(since) {
		if !slices.Equal(change.addresses, []string{to.at()}) {
			s.Errorf("published was %v at %s, want %s alone", change.addresses, change.at, to.at())
		}
	}
}

// staysAwayAsPrimary has the previous primary come back as a second primary. Its check cannot tell it from the first. The
// Service keeps the one it has, since failback is Manual, and every write from then on is there alone.
func (s *suite) staysAwayAsPrimary(published *service, writes *writer, from, to member) {
	s.Helper()
	returned := time.Now()
	from.returnAsPrimary()
	s.Eventually(func() error {
		var es networkingv1.ExternalService
		if err := s.Get("db", &es); err != nil {
			return err
		}
		if es.Status.Addresses == nil || es.Status.Addresses.Healthy != 2 {
			return fmt.Errorf("want two healthy addresses: %s", framework.Text(es.Status))
		}
		return nil
	})
	s.Never(func() error { return nil })
	s.onlyHas(published, to, returned)
	all := writes.since(returned)
	var written int64
	for _, a := range all {
		if a.err != nil || a.address != to.at() {
			s.Errorf("write %d at %q: %v, want it at %s", a.id, a.address, a.err, to.at())
			continue
		}
		written++
	}
	if there := to.stored(all[0].id); there < written {
		s.Errorf("%d writes were answered, and %d are stored", written, there)
	}
	if lost := from.stored(all[0].id); lost > 0 {
		s.Errorf("%d writes are at the second primary", lost)
	}
}
