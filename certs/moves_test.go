// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certs_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"github.com/fsnotify/fsnotify"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"pgregory.net/rapid"

	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/certs/certmanager"
	"github.com/fairlead-dev/fairlead/certs/folder"
	"github.com/fairlead-dev/fairlead/certs/injection"
	"github.com/fairlead-dev/fairlead/certs/selfsigned"
	"github.com/fairlead-dev/fairlead/certs/trust"
	"github.com/fairlead-dev/fairlead/internal/pemfile"
)

// The sources of certificates.
const (
	selfSigned = iota
	certManager
	fromFolder
)

// The steps of a history. Span is the time that passes afterwards.
const (
	moveTo       = "a rolling update to source"             // Which: the source
	renewFolder  = "the folder of a replica is renewed"     // Which: the replica
	otherCA      = "the folder of a replica has another CA" // of one that all folders get in the end
	noCA         = "ca.crt is missing in the folder of a replica"
	formerFolder = "the folder of a replica is as before"
	reissue      = "cert-manager issues from another CA"
	rotate       = "a rotation is requested"
	restart      = "a replica is killed and starts again"
	killAfter    = "a replica is killed after some writes"
	refuse       = "the writes of a target are refused"
	unread       = "the trust Secret cannot be read"
	allow        = "nothing is refused any more"
	removeTrust  = "the trust Secret is deleted"
	passes       = "time passes"
)

type move struct {
	What  string
	Which int
	Span  time.Duration
}

const (
	namespace  = "fairlead-system"
	serverName = "fairlead-webhook.fairlead-system.svc"
	validity   = 7 * 24 * time.Hour
)

// issuer signs certificates.
type issuer struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func sign(t *testing.T, template *x509.Certificate, by *issuer) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	made := &issuer{key: key}
	if by == nil {
		by = &issuer{template, key}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, by.certificate, key.Public(), by.key)
	if err == nil {
		made.certificate, err = x509.ParseCertificate(der)
	}
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	return sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: "issuer"}, NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(1000 * validity),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, nil)
}

// issue is the content of a folder or of a Secret.
func (i *issuer) issue(t *testing.T) map[string][]byte {
	t.Helper()
	leaf := sign(t, &x509.Certificate{
		DNSNames: []string{serverName}, NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(10 * validity),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, i)
	der, err := x509.MarshalPKCS8PrivateKey(leaf.key)
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{
		certs.CertKey:    certs.EncodeCertificates(leaf.certificate),
		certs.PrivateKey: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}),
		certs.CAKey:      certs.EncodeCertificates(i.certificate),
	}
}

// replica is one process.
type replica struct {
	source   certs.Source
	kind     int
	ready    atomic.Bool
	partly   atomic.Bool // whether a write was refused when it started: it is ready all the same
	writes   atomic.Int64
	dead     atomic.Bool
	cancel   context.CancelFunc
	running  sync.WaitGroup
	position int // of its folder
}

// world is the API server, the folders and the replicas.
type world struct {
	*testing.T
	*apiServer
	replicas [2]*replica
	folders  [2]string
	before   [2]map[string][]byte // what a folder had before
	now      [2]map[string][]byte
	ca       *issuer // of the folders
	kind     int     // of the source that is configured
	accepted map[string]bool
}

// fill swaps the content of a folder, as a kubelet does.
func (w *world) fill(n int, content map[string][]byte) {
	w.before[n], w.now[n] = w.now[n], content
	generation, err := os.MkdirTemp(w.folders[n], "generation")
	if err != nil {
		w.Fatal(err)
	}
	for name, text := range content {
		if err := os.WriteFile(filepath.Join(generation, name), text, 0o600); err != nil {
			w.Fatal(err)
		}
	}
	link := filepath.Join(w.folders[n], "next")
	if err := errors.Join(os.Symlink(filepath.Base(generation), link), os.Rename(link, filepath.Join(w.folders[n], "data"))); err != nil {
		w.Fatal(err)
	}
}

// start starts a replica with the source that is configured, as the operator assembles it.
func (w *world) start(n int) *replica {
	r := &replica{kind: w.kind, position: n}
	var ctx context.Context
	ctx, r.cancel = context.WithCancel(w.Context())
	kube, untyped := w.clients(r)
	var source certs.Source
	injector, err := injection.New(injection.Options{
		Client: untyped, CRDs: []string{"crd"}, Webhooks: []string{"hooks"}, PublishTimeout: 15 * time.Second,
		Latest: func(ctx context.Context) ([]byte, error) { return source.(certs.Keeper).Latest(ctx) },
	})
	if err != nil {
		w.Fatal(err)
	}
	r.source = w.newSource(r, kube, injector)
	source = r.source
	r.running.Go(func() {
		for {
			attempt, cancel := context.WithTimeout(ctx, time.Minute)
			err := source.Prepare(attempt)
			cancel()
			if err == nil {
				break
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(5 * time.Second):
			}
		}
		r.running.Go(func() { _ = source.Run(ctx) })
		attempt, cancel := context.WithTimeout(ctx, time.Minute)
		err := injector.Publish(attempt, source.CABundle())
		cancel()
		if ctx.Err() != nil {
			return
		}
		r.partly.Store(err != nil)
		r.ready.Store(true)
		_ = injector.Run(ctx, source.CABundle)
	})
	return r
}

func (w *world) newSource(r *replica, kube kubernetes.Interface, injector *injection.Injector) certs.Source {
	secrets := kube.CoreV1().Secrets(namespace)
	targets := trust.Targets{
		Observe: injector.Observed, Publish: injector.Publish, Published: injector.Published,
		FormerAuthorities: func(ctx context.Context) []byte {
			if secret, err := secrets.Get(ctx, "fairlead-webhook-ca", getOptions); err == nil {
				return secret.Data[certs.CAKey]
			}
			return nil
		},
	}
	var source certs.Source
	var err error
	switch r.kind {
	case fromFolder:
		source, err = folder.New(folder.Options{
			Path: filepath.Join(w.folders[r.position], "data"), ServerName: serverName, Secrets: secrets, Namespace: namespace, Validity: validity,
			Targets: targets, OnChange: injector.Trigger,
			NewWatcher: func() (*fsnotify.Watcher, error) {
				return nil, errors.New("time in a bubble does not pass while a watch waits")
			},
		})
	case certManager:
		source, err = certmanager.New(certmanager.Options{
			Client: kube, Dynamic: w.dynamicOf(r), Targets: targets, Validity: validity, OnChange: injector.Trigger,
		})
	default:
		source, err = selfsigned.New(selfsigned.Options{
			Client: kube, LeafValidity: validity, Observe: injector.Observed, Publish: injector.Publish, Published: injector.Published,
			OnChange: injector.Trigger,
			OtherAuthorities: func(ctx context.Context, roots []*x509.Certificate) ([]*x509.Certificate, error) {
				return trust.Join(ctx, secrets, roots, validity, time.Now())
			},
		})
	}
	if err != nil {
		w.Fatal(err)
	}
	return source
}

func (r *replica) stop() {
	r.dead.Store(true)
	r.cancel()
	r.running.Wait()
}

// refusals returns why an API server would refuse a replica that is ready: by the bundle of each target. What is refused itself
// cannot have the authority of a replica that started meanwhile.
func (w *world) refusals(all ...*replica) error {
	for _, r := range all {
		if r == nil || !r.ready.Load() || r.dead.Load() || r.partly.Load() {
			continue
		}
		served, err := r.source.GetCertificate(nil)
		if err != nil {
			return err
		}
		for name, bundle := range w.published() {
			known := string(served.Leaf.Raw) + string(bundle)
			if w.accepted[known] {
				continue
			}
			roots, err := pemfile.ParseCertificates(bundle)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			pool := x509.NewCertPool()
			for _, one := range roots {
				pool.AddCert(one)
			}
			if _, err := served.Leaf.Verify(x509.VerifyOptions{Roots: pool, CurrentTime: time.Now()}); err != nil {
				return fmt.Errorf("%s with %d authorities refuses replica %d with source %d: %w", name, len(roots), r.position, r.kind, err)
			}
			w.accepted[known] = true
		}
	}
	return nil
}

// pass lets time go by, and looks at each moment at which something may have happened.
func (w *world) pass(span time.Duration, beside ...*replica) error {
	for end := time.Now().Add(span); ; {
		synctest.Wait()
		if err := w.refusals(append(beside, w.replicas[:]...)...); err != nil {
			return err
		}
		left := time.Until(end)
		if left <= 0 {
			return nil
		}
		<-time.After(min(left, max(200*time.Millisecond, span/2000)))
	}
}

// replace puts a replica in the place of another, which serves until the new one is ready.
func (w *world) replace(n int) error {
	next := w.start(n)
	for waited := time.Duration(0); !next.ready.Load() && waited < 5*time.Minute; waited += time.Second {
		if err := w.pass(time.Second, next); err != nil {
			return errors.Join(err, nextEnds(next))
		}
	}
	if !next.ready.Load() {
		return nextEnds(next) // the update does not go on
	}
	old := w.replicas[n]
	w.replicas[n] = next
	old.stop()
	return nil
}

func nextEnds(next *replica) error {
	next.stop()
	return nil
}

func (w *world) do(m move) error {
	n := m.Which % 2
	switch m.What {
	case moveTo:
		w.kind = m.Which % 3
		for i := range w.replicas {
			if err := w.replace(i); err != nil {
				return err
			}
			if err := w.pass(m.Span); err != nil {
				return err
			}
		}
	case renewFolder:
		w.fill(n, w.ca.issue(w.T))
	case otherCA:
		w.ca = newIssuer(w.T)
		w.fill(n, w.ca.issue(w.T))
	case noCA:
		content := w.ca.issue(w.T)
		delete(content, certs.CAKey)
		w.fill(n, content)
	case formerFolder:
		w.fill(n, w.before[n])
	case reissue:
		w.setSecret("fairlead-webhook-tls", newIssuer(w.T).issue(w.T))
	case rotate:
		w.changeSecret("fairlead-webhook-ca", func(secret *corev1.Secret) { secret.Annotations[selfsigned.RotateAnnotation] = time.Now().String() })
	case restart:
		w.replicas[n].stop()
		w.replicas[n] = w.start(n)
	case killAfter:
		w.replicas[n].writes.Store(int64(m.Which + 1))
	case refuse:
		w.refuseWrites([]string{"crd", "mutating", "validating"}[m.Which%3])
	case unread:
		w.refuseReads()
	case allow:
		w.allowAll()
	case removeTrust:
		if w.serveByOne() { // the guide asks for it
			w.removeSecret(trust.SecretName)
		}
	}
	return nil
}

// serveByOne reports whether all replicas serve by one authority.
func (w *world) serveByOne() bool {
	one, err := w.replicas[0].source.GetCertificate(nil)
	other, otherErr := w.replicas[1].source.GetCertificate(nil)
	return err == nil && otherErr == nil && bytes.Equal(one.Leaf.AuthorityKeyId, other.Leaf.AuthorityKeyId)
}

// playMoves plays a history, and returns which law it broke; empty for none.
func playMoves(t *testing.T, history []move) string {
	w := &world{T: t, apiServer: newAPIServer(), ca: newIssuer(t), accepted: map[string]bool{}}
	w.setSecret("fairlead-webhook-tls", newIssuer(t).issue(t))
	w.setCertificate(t, certmanagerv1.CertificateSpec{SecretName: "fairlead-webhook-tls", DNSNames: []string{serverName}})
	for n := range w.folders {
		w.folders[n] = t.TempDir()
		w.fill(n, w.ca.issue(t))
		w.before[n] = w.now[n]
	}
	defer func() {
		for _, r := range w.replicas {
			r.stop()
		}
	}()
	for n := range w.replicas {
		w.replicas[n] = w.start(n)
		if err := w.pass(time.Minute); err != nil {
			return "the start: " + err.Error()
		}
	}
	for n, m := range history {
		err := w.do(m)
		if err == nil {
			err = w.pass(m.Span)
		}
		if err != nil {
			return fmt.Sprintf("%q %d (step %d): %v", m.What, m.Which, n, err)
		}
		for i, r := range w.replicas {
			if r.dead.Load() { // it has ended itself after a write
				r.stop()
				w.replicas[i] = w.start(i)
			}
		}
	}
	w.allowAll()
	for n := range w.folders {
		w.fill(n, w.ca.issue(t))
	}
	if err := w.pass(30 * time.Minute); err != nil {
		return "the end: " + err.Error()
	}
	for n, r := range w.replicas {
		r.partly.Store(false)
		if !r.ready.Load() {
			return fmt.Sprintf("with the world at rest, replica %d is not ready", n)
		}
		if served, err := r.source.GetCertificate(nil); r.kind == fromFolder && (err != nil || string(certs.EncodeCertificates(served.Leaf)) != string(w.now[n][certs.CertKey])) {
			return fmt.Sprintf("with the world at rest, replica %d does not serve what is in its folder: %v; %v", n, err, r.source.Err())
		}
	}
	if err := w.refusals(w.replicas[:]...); err != nil {
		return "with the world at rest: " + err.Error()
	}
	return ""
}

// lawChecks is how many histories the law is checked on, unless the flag rapid.checks says otherwise.
const lawChecks = "20"

// Whatever happens to the folders, to cert-manager's Secret and to the operator's authority, and to replicas that are moved
// between the three sources, killed between two writes, or refused a write: no replica that is ready serves what a target does
// not trust, at any moment. With the world at rest, each serves what it was given last.
func TestNoMoveBetweenSourcesServesWhatIsNotTrusted(t *testing.T) {
	isSet := false
	flag.Visit(func(f *flag.Flag) { isSet = isSet || f.Name == "rapid.checks" })
	if !isSet {
		if err := flag.Set("rapid.checks", lawChecks); err != nil {
			t.Fatal(err)
		}
	}
	what := []string{
		moveTo, moveTo, renewFolder, otherCA, otherCA, noCA, formerFolder, reissue, rotate, restart, killAfter, refuse, unread, allow, removeTrust, passes,
	}
	rapid.Check(t, func(r *rapid.T) {
		history := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) move {
			return move{
				rapid.SampledFrom(what).Draw(r, "what"), rapid.IntRange(0, 5).Draw(r, "which"),
				time.Duration(rapid.SampledFrom([]int64{0, 1, 7, 20, 300}).Draw(r, "seconds")) * time.Second,
			}
		}), 1, 10).Draw(r, "history")
		var failure string
		synctest.Test(t, func(t *testing.T) { failure = playMoves(t, history) })
		if failure != "" {
			r.Fatal(failure)
		}
	})
}

// Each move, and the change of the folders of two replicas that broke calls.
func TestMovesThatFailedCalls(t *testing.T) {
	for title, history := range map[string][]move{
		"the folders of two replicas change 20 s apart": {{moveTo, fromFolder, time.Second}, {otherCA, 0, 20 * time.Second}, {renewFolder, 1, time.Minute}},
		"the folders of two replicas change 5 m apart":  {{moveTo, fromFolder, time.Second}, {otherCA, 0, 5 * time.Minute}, {renewFolder, 1, time.Minute}},
		"to a folder, and back":                         {{moveTo, fromFolder, 20 * time.Second}, {moveTo, selfSigned, 20 * time.Second}},
		"to cert-manager, and back":                     {{moveTo, certManager, 20 * time.Second}, {moveTo, selfSigned, 20 * time.Second}},
		"from cert-manager to a folder, and back":       {{moveTo, certManager, time.Second}, {moveTo, fromFolder, 20 * time.Second}, {moveTo, certManager, time.Second}},
		"to a folder without ca.crt": {
			{noCA, 0, 0}, {noCA, 1, 0}, {moveTo, fromFolder, 20 * time.Second},
		},
		"a rotation after a move": {{moveTo, fromFolder, time.Second}, {moveTo, selfSigned, time.Second}, {rotate, 0, 5 * time.Minute}},
	} {
		t.Run(title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if failure := playMoves(t, history); failure != "" {
					t.Error(failure)
				}
			})
		})
	}
}
