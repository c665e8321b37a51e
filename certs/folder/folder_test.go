// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package folder

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/wait"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/internal/pemfile"
)

func newFolder(t *testing.T, options Options) *Folder {
	t.Helper()
	folder, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// running runs the folder until the test ends.
func running(t *testing.T, folder *Folder) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- folder.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, 30*time.Second, true,
		func(context.Context) (bool, error) { return condition(), nil })
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func serves(folder *Folder, content files) bool {
	served, err := folder.GetCertificate(nil)
	if err != nil {
		return false
	}
	chain, err := pemfile.ParseCertificates(content[certs.CertKey])
	return err == nil && served.Leaf.Equal(chain[0]) && len(served.Certificate) == len(chain)
}

func TestASwappedSecretIsTakenUpByTheWatch(t *testing.T) {
	path, root := t.TempDir(), newIssuer(t, nil)
	mount(t, path, root.files(t, -time.Hour, time.Hour))
	var changes atomic.Int32
	folder := newFolder(t, Options{Path: path, Interval: time.Hour, OnChange: func() { changes.Add(1) }})
	if err := folder.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	running(t, folder)
	next := root.files(t, -time.Hour, time.Hour)
	mount(t, path, next)
	eventually(t, "the next certificate", func() bool { return serves(folder, next) })
	if got := changes.Load(); got != 1 {
		t.Errorf("OnChange called %d times for one bundle", got)
	}
	other := newIssuer(t, nil).files(t, -time.Hour, time.Hour)
	mount(t, path, other)
	eventually(t, "the next bundle", func() bool { return bytes.Equal(folder.CABundle(), other[certs.CAKey]) && changes.Load() == 2 })
}

func TestAChangeThatTheWatchMissesIsTakenUpByTheInterval(t *testing.T) {
	// The folder is a link to another one, whose swap a watch of the old one cannot see.
	base, root := t.TempDir(), newIssuer(t, nil)
	one, two, path := filepath.Join(base, "one"), filepath.Join(base, "two"), filepath.Join(base, "path")
	first, next := root.files(t, -time.Hour, time.Hour), root.files(t, -time.Hour, time.Hour)
	for place, content := range map[string]files{one: first, two: next} {
		if err := os.Mkdir(place, 0o700); err != nil {
			t.Fatal(err)
		}
		mount(t, place, content)
	}
	if err := os.Symlink(one, path); err != nil {
		t.Fatal(err)
	}
	clock := clocktesting.NewFakeClock(time.Now())
	folder := newFolder(t, Options{Path: path, Clock: clock})
	if err := folder.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	running(t, folder)
	eventually(t, "Run starts", clock.HasWaiters)
	clock.Step(time.Nanosecond) // the first reading is due at once
	eventually(t, "Run waits for the interval", clock.HasWaiters)
	if err := os.Symlink(two, path+".next"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".next", path); err != nil {
		t.Fatal(err)
	}
	clock.Step(10 * time.Second)
	eventually(t, "the next certificate", func() bool { return serves(folder, next) })
}

func TestAHalfWrittenPairIsWaitedOut(t *testing.T) {
	path, root := t.TempDir(), newIssuer(t, nil)
	first, next := root.files(t, -time.Hour, time.Hour), root.files(t, -time.Hour, time.Hour)
	for name, text := range first {
		write(t, filepath.Join(path, name), text)
	}
	registry := prometheus.NewRegistry()
	folder := newFolder(t, Options{Path: path, Registerer: registry})
	if err := folder.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	running(t, folder)
	write(t, filepath.Join(path, certs.CertKey), next[certs.CertKey])
	eventually(t, "the failure is counted", func() bool { return count(t, registry, certs.ReloadFailed) > 0 })
	if !serves(folder, first) {
		t.Error("the last good certificate is not served")
	}
	eventually(t, "the key that does not fit is reported", func() bool { // a certificate that was read while it was written may be reported first
		err := folder.Err()
		return err != nil && strings.Contains(err.Error(), certs.PrivateKey)
	})
	write(t, filepath.Join(path, certs.PrivateKey), next[certs.PrivateKey])
	eventually(t, "the whole pair", func() bool { return serves(folder, next) })
	if got := count(t, registry, certs.ReloadChanged); got != 1 {
		t.Errorf("%v changes counted", got)
	}
}

func TestAnIntermediateThatChangesAloneIsTakenUp(t *testing.T) {
	path, root := t.TempDir(), newIssuer(t, nil)
	content := root.files(t, -time.Hour, time.Hour)
	mount(t, path, content)
	folder := newFolder(t, Options{Path: path, Interval: time.Hour})
	if err := folder.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	running(t, folder)
	longer := files{certs.PrivateKey: content[certs.PrivateKey], certs.CAKey: content[certs.CAKey]}
	longer[certs.CertKey] = append(bytes.Clone(content[certs.CertKey]), certs.EncodeCertificates(newIssuer(t, root).certificate)...)
	mount(t, path, longer)
	eventually(t, "the longer chain", func() bool { return serves(folder, longer) })
}

func TestPrepareWaitsForTheFilesToAppear(t *testing.T) {
	path, root := t.TempDir(), newIssuer(t, nil)
	content := root.files(t, -time.Hour, time.Hour)
	folder := newFolder(t, Options{Path: path})
	prepared := make(chan error, 1)
	go func() { prepared <- folder.Prepare(t.Context()) }()
	mount(t, path, content)
	if err := <-prepared; err != nil {
		t.Fatal(err)
	}
	if !serves(folder, content) {
		t.Error("not served")
	}
}

func TestPrepareGivesUpAfterItsWaitWithWhatIsWrong(t *testing.T) {
	path := t.TempDir()
	clock := clocktesting.NewFakeClock(time.Now())
	folder := newFolder(t, Options{Path: path, Clock: clock})
	prepared := make(chan error, 1)
	go func() { prepared <- folder.Prepare(t.Context()) }()
	began := clock.Now()
	var err error
	eventually(t, "an end", func() bool {
		select {
		case err = <-prepared:
			return true
		default:
			if clock.HasWaiters() {
				clock.Step(time.Second)
			}
			return false
		}
	})
	if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "tls.crt: does not exist") {
		t.Errorf("Prepare: %v", err)
	}
	if waited := clock.Since(began); waited < time.Minute || waited > 2*time.Minute {
		t.Errorf("gave up after %s", waited)
	}
	if _, err := folder.GetCertificate(nil); err == nil || folder.CABundle() != nil {
		t.Error("something is served")
	}
}

func TestPrepareEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := newFolder(t, Options{Path: t.TempDir()}).Prepare(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Prepare: %v", err)
	}
}

func TestAFolderWithoutAPathIsRefused(t *testing.T) {
	if _, err := New(Options{}); err == nil {
		t.Error("accepted")
	}
}

// count reads what the registry publishes.
func count(t *testing.T, registry *prometheus.Registry, result string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() == "fairlead_certificate_reloads_total" && metric.GetLabel()[0].GetValue() == result {
				return metric.GetCounter().GetValue()
			}
		}
	}
	t.Fatalf("result %q is not published", result)
	return 0
}
