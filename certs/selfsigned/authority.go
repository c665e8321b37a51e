// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package selfsigned

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/certs/internal/rotation"
	"github.com/fairlead-dev/fairlead/certs/keypair"
	"github.com/fairlead-dev/fairlead/internal/metrics"
	"github.com/fairlead-dev/fairlead/internal/objectwatch"
	"github.com/fairlead-dev/fairlead/internal/panics"
	"github.com/fairlead-dev/fairlead/internal/retry"
)

// attemptTimeout bounds one pass of requests to the API server.
const attemptTimeout = 10 * time.Second

// Authority is the certs.Source of this package.
type Authority struct {
	options Options
	delays  rotation.Delays
	secrets corev1client.SecretInterface
	metrics *certs.Metrics
	reads   *certs.Reads
	phases  *prometheus.GaugeVec

	// What handshakes and handlers read: no lock, never half-changed.
	served atomic.Pointer[tls.Certificate]
	bundle atomic.Pointer[[]byte]
	usable atomic.Pointer[x509.Certificate]    // the last root whose certificates clients take
	others atomic.Pointer[[]*x509.Certificate] // by which other sources are trusted, as last read; nil: never

	mu          sync.Mutex     // guards what follows, also while the Secret is read
	stored      *storedCA      // as last read
	signerSince time.Time      // when the root that signs was first read here
	serving     *leaf          // the certificate that is served
	phaseSeen   phaseSeen      // of the current phase
	check       bundleCheck    // whether clients have the bundle
	othersLog   retry.Distinct // why the authorities of other sources could not be read

	published publication // by Prepare alone
}

// publication is a bundle that Prepare has published, and when.
type publication struct {
	bundle string
	at     time.Time
}

var _ certs.Keeper = (*Authority)(nil)

// New returns an Authority. It fails where options are missing or contradict each other, and sends no
// request.
func New(options Options) (*Authority, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	a := &Authority{options: options, delays: options.delays(), secrets: options.Client.CoreV1().Secrets(options.Namespace)}
	if a.metrics, err = certs.NewMetrics(options.Registerer); err != nil {
		return nil, err
	}
	a.reads = certs.NewReads(a.metrics, options.Log, options.OnFailure)
	a.phases, err = metrics.Gauge(options.Registerer, "fairlead_ca_rotation_phase",
		"1 for the phase that the rotation of the root is in, and 0 for the others.", "phase")
	return a, err
}

// Prepare reads the root from the Secret, or creates it, and signs a first serving certificate. It retries
// a server that does not respond until ctx ends, missing permissions for DeniedTimeout, and a Secret that
// is not the operator's not at all. A root that had to be created at once is published first, and so is one beside those of
// another source.
func (a *Authority) Prepare(ctx context.Context) error {
	policy := retry.Policy{
		Clock:          a.options.Clock,
		Log:            a.options.Log.WithValues("secret", a.String()),
		AttemptTimeout: attemptTimeout,
		BoundedTimeout: a.options.DeniedTimeout,
	}
	err := retry.Until(ctx, policy, func(ctx context.Context) error {
		err := a.synchronize(ctx)
		if errors.Is(err, errRefused) {
			return retry.Final(err)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("prepare the webhook's certificate: %w", err)
	}
	return a.awaitTrust(ctx)
}

// askOthers reads who is trusted for replicas with another source, which publish the roots that sign now, and will. What cannot
// be read leaves what was known.
func (a *Authority) askOthers(ctx context.Context, found *storedCA) error {
	if a.options.OtherAuthorities == nil {
		return nil
	}
	own := slices.Clone(found.signer.chain)
	if found.next != nil {
		own = append(own, found.next.chain...)
	}
	others, err := a.options.OtherAuthorities(ctx, own)
	if err == nil || others != nil {
		a.others.Store(&others)
	}
	return err
}

// bundleOf returns the published bundle: the roots of the Secret, and the roots of replicas with another certificate source.
func (a *Authority) bundleOf(found *storedCA) []byte {
	all := found.trustedRoots()
	if others := a.others.Load(); others != nil {
		all = append(all, *others...)
	}
	return certs.EncodeCertificates(all...)
}

// awaitTrust publishes a root that had to be created at once, or beside authorities of another source, and returns when clients
// have had the time to read it: until then other replicas serve what they trust. A client that refuses the bundle does not
// hold up the others.
func (a *Authority) awaitTrust(ctx context.Context) error {
	bundle, waits := a.untrustedBundle(ctx)
	if !waits {
		return nil
	}
	if a.published.bundle != bundle {
		err := a.options.Publish(ctx, []byte(bundle))
		if err != nil && ctx.Err() != nil {
			return fmt.Errorf("prepare the webhook's certificate: its root is not trusted yet: %w", err)
		}
		if err != nil {
			a.options.Log.Error(err, "serving a certificate of a root that not every client trusts", "secret", a.String())
		}
		a.published = publication{bundle, a.options.Clock.Now()}
	}
	timer := a.options.Clock.NewTimer(a.published.at.Add(a.delays.Settle).Sub(a.options.Clock.Now()))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return fmt.Errorf("prepare the webhook's certificate: its root was published a moment ago: %w", ctx.Err())
	case <-timer.C():
		return nil
	}
}

// untrustedBundle returns the bundle where other authorities were trusted before the root that signs, and clients may not trust
// that yet.
func (a *Authority) untrustedBundle(ctx context.Context) (string, bool) {
	a.mu.Lock()
	bundle := string(a.bundleOf(a.stored))
	waits := a.stored.status.Phase == rotation.Signing && !a.isSignerTrusted(a.options.Clock.Now())
	others, own := a.others.Load(), certs.EncodeCertificates(a.stored.signer.chain...)
	a.mu.Unlock()
	if others != nil && len(*others) > 0 && !waits {
		bounded, cancel := context.WithTimeout(ctx, attemptTimeout)
		defer cancel()
		waits = a.options.Observe == nil || a.options.Observe(bounded, own) != nil
	}
	return bundle, waits && a.options.Publish != nil
}

// GetCertificate returns the serving certificate for any server name.
func (a *Authority) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if certificate := a.served.Load(); certificate != nil {
		return certificate, nil
	}
	return nil, fmt.Errorf("secret %s: no serving certificate has been signed yet", a)
}

// CABundle returns the roots that the Secret lists as trusted, and the authorities of other sources; nil before Prepare has succeeded.
func (a *Authority) CABundle() []byte {
	if bundle := a.bundle.Load(); bundle != nil {
		return *bundle
	}
	return nil
}

// String returns the Secret's namespace and name.
func (a *Authority) String() string { return a.options.Namespace + "/" + a.options.Name }

// checkSigner returns why no client could be served with certificates of a root that is new here: its key may be of a
// kind that TLS has no use for, or its constraints may exclude the name of the webhooks. Such a root replaces none.
func (a *Authority) checkSigner(found *storedCA) error {
	if usable := a.usable.Load(); usable != nil && usable.Equal(found.signer.certificate()) {
		return nil
	}
	now := a.options.Clock.Now()
	signed, err := sign(found.signer, a.options.names(), now, a.options.LeafValidity)
	if err == nil {
		err = keypair.Handshake(signed.certificate, found.trustedRoots(), a.options.names()[0], now)
	}
	if err != nil {
		return fmt.Errorf("secret %s: %s: no client can be served with what it signs: %w: put another authority there, or delete the Secret to have one made", a, certs.CertKey, err)
	}
	a.usable.Store(found.signer.certificate())
	return nil
}

// use applies the content of the Secret: first the bundle, then the root that signs.
func (a *Authority) use(found *storedCA) error {
	now := a.options.Clock.Now()
	if a.stored == nil || !a.stored.signer.certificate().Equal(found.signer.certificate()) {
		a.signerSince = now
		a.options.Log.Info("certificate authority in use", "secret", a.String(),
			"serial", found.signer.certificate().SerialNumber.Text(16), "expires", found.signer.expiry())
	}
	a.stored = found
	a.trackPhase(found, now)
	a.publishMetrics()
	bundle := a.bundleOf(found)
	if before := a.bundle.Load(); before == nil || string(*before) != string(bundle) {
		a.bundle.Store(&bundle)
		if before != nil {
			a.metrics.CountReload(certs.ReloadChanged)
		}
		if a.options.OnChange != nil {
			a.options.OnChange()
		}
	}
	return a.renew(now)
}

func (a *Authority) publishMetrics() {
	var next time.Time
	if a.stored.next != nil {
		next = a.stored.next.expiry()
	}
	a.metrics.SetExpiry(certs.ExpiryRoot, a.stored.signer.expiry())
	a.metrics.SetExpiry(certs.ExpiryNext, next)
	for _, phase := range rotation.Phases() {
		value := 0.0
		if phase == a.stored.status.Phase {
			value = 1
		}
		a.phases.WithLabelValues(string(phase)).Set(value)
	}
}

// renew serves another certificate where the current one is old or its signer has been replaced.
func (a *Authority) renew(now time.Time) error {
	if a.stored == nil {
		return nil
	}
	signer, unobserved := a.signer(now)
	if a.serving != nil && a.serving.isFresh(now) && a.serving.signer.certificate().Equal(signer.certificate()) {
		return nil
	}
	signed, err := sign(signer, a.options.names(), now, a.options.LeafValidity)
	if err != nil {
		return err
	}
	if unobserved != nil {
		a.options.Log.Error(unobserved, "the webhook's certificate is signed by a root that clients may not trust yet; their calls fail until the CA bundle has reached them", "secret", a.String())
	}
	if a.serving != nil {
		a.metrics.CountReload(certs.ReloadChanged)
	}
	a.serving = signed
	a.served.Store(signed.certificate)
	a.metrics.SetExpiry(certs.ExpiryServing, signed.certificate.Leaf.NotAfter)
	a.options.Log.Info("serving certificate signed", "serial", signed.certificate.Leaf.SerialNumber.Text(16),
		"expires", signed.certificate.Leaf.NotAfter, "renewal", signed.renewAt)
	return nil
}

// formerRoots are the roots trusted so far, which a new one is added to.
func (a *Authority) formerRoots() []*x509.Certificate {
	if a.stored == nil {
		return nil
	}
	return a.stored.trustedRoots()
}

// Run applies changes of the Secret, renews the serving certificate in time and continues rotations until
// ctx ends. The Secret is watched so that a change counts at once, and read at every interval, in case the
// watch is refused or broken.
func (a *Authority) Run(ctx context.Context) error {
	changed := make(chan struct{}, 1)
	watching := make(chan struct{})
	ctx, cancel := context.WithCancel(ctx)
	defer func() { cancel(); <-watching }()
	go func() {
		defer close(watching)
		panics.Go("certificates", func() { a.watchSecret(ctx, changed) })
	}()

	for pause := a.untilNextWake(nil); ; {
		timer := a.options.Clock.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C():
		case <-changed:
			timer.Stop()
		}
		err := a.refresh(ctx)
		if ctx.Err() == nil {
			a.reads.Record(err, "the webhook's certificate authority could not be read; the last good one stays in use")
		}
		pause = a.untilNextWake(err)
	}
}

// Err returns why the authority as it was last read is not in use.
func (a *Authority) Err() error { return a.reads.Err() }

// minInterval is the least time between two reads without an event.
const minInterval = 100 * time.Millisecond

// untilNextWake is the time until there is something to do. After a failure that is the interval, or
// the renewal of the serving certificate where that is sooner.
func (a *Authority) untilNextWake(failure error) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.options.Clock.Now()
	at := a.nextWake(now)
	if failure != nil {
		at = now.Add(a.options.Interval)
		if a.serving != nil && a.serving.renewAt.After(now) {
			at = earlier(at, a.serving.renewAt)
		}
	}
	return max(at.Sub(now), minInterval)
}

// refresh synchronizes with the Secret, and checks the bundle where a decision depends on it. The serving
// certificate is renewed even if that fails: it needs only what is in memory.
func (a *Authority) refresh(ctx context.Context) error {
	err := a.synchronizeBounded(ctx)
	if err == nil && a.isCheckDue() && a.checkBundle(ctx) {
		err = a.synchronizeBounded(ctx)
	}
	if err == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if renewErr := a.renew(a.options.Clock.Now()); renewErr != nil {
		return fmt.Errorf("%w; and %w", err, renewErr)
	}
	return err
}

func (a *Authority) synchronizeBounded(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	return a.synchronize(bounded)
}

func (a *Authority) isCheckDue() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	now, _ := a.nextCheck(a.options.Clock.Now())
	return now
}

// watchSecret signals changes of the Secret until ctx ends, with at most one watch for each interval.
func (a *Authority) watchSecret(ctx context.Context, changed chan<- struct{}) {
	objectwatch.Run(ctx, objectwatch.Options{
		Client: a.secrets, Name: a.options.Name, Changed: changed, Work: "certificates", Clock: a.options.Clock,
		MinDelay: a.options.Interval, MaxDelay: a.options.Interval,
		OnError: func(err error) {
			a.options.Log.Info("the Secret cannot be watched, so changes count only when it is next read",
				"secret", a.String(), "interval", a.options.Interval.String(), "reason", err.Error())
		},
	})
}
