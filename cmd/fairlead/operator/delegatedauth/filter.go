// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package delegatedauth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/internal/connections"
	"github.com/fairlead-dev/fairlead/internal/metrics"
)

const (
	allowedFor = time.Minute      // how long a caller is served without another review
	refusedFor = 10 * time.Second // how long a refusal is repeated without one
	knownFor   = time.Hour        // how long a caller who was allowed has precedence
	// maxAllowed and maxRefused bound what is remembered, in tokens.
	maxAllowed, maxRefused = 256, 1024
)

// Options configure a Filter.
type Options struct {
	// Client sends the reviews. Required.
	Client kubernetes.Interface
	// Logger is told, at most once in ten seconds, why a review failed.
	Logger logr.Logger
	// Metrics registers the counter of refused callers. Defaults to nil: it is not published.
	Metrics prometheus.Registerer
	// Clock defaults to the real one.
	Clock clock.PassiveClock
}

// Filter serves requests that the API server allows, and refuses others.
type Filter struct {
	client  kubernetes.Interface
	logger  logr.Logger
	clock   clock.PassiveClock
	refused *prometheus.CounterVec
	failure rate.Sometimes // logs a review that failed
	secret  [sha256.Size]byte
	budget  *budget

	allowed  *cache.LRUExpireCache // of a key: until when no review is needed
	refusals *cache.LRUExpireCache // of a key: a refusal
}

// New returns a filter. It fails where another metric has the name of its counter.
func New(o Options) (*Filter, error) {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	refused, err := metrics.Counter(o.Metrics, "fairlead_metrics_refused_callers_total",
		"Requests to the metrics port that were refused, by reason: unauthenticated, forbidden, throttled or unreviewed.", "reason")
	if err != nil {
		return nil, err
	}
	f := &Filter{
		client: o.Client, logger: o.Logger, clock: o.Clock, refused: refused, failure: rate.Sometimes{Interval: 10 * time.Second},
		budget: newBudget(o.Clock), allowed: cache.NewLRUExpireCacheWithClock(maxAllowed, o.Clock),
		refusals: cache.NewLRUExpireCacheWithClock(maxRefused, o.Clock),
	}
	_, _ = rand.Read(f.secret[:]) // which never fails
	return f, nil
}

// refusal is why a request is not served; nil where it is.
type refusal struct {
	reason string // of the metric
	code   int
	text   string
}

var (
	unauthenticated = &refusal{"unauthenticated", http.StatusUnauthorized, "the API server does not know the bearer token"}
	withoutToken    = &refusal{"unauthenticated", http.StatusUnauthorized, "the request has no bearer token"}
	throttled       = &refusal{"throttled", http.StatusTooManyRequests, "too many callers are unknown: try again later"}
	unreviewed      = &refusal{"unreviewed", http.StatusServiceUnavailable, "the API server did not review the caller: the operator's log has the reason"}
)

// Wrap returns a handler of requests that the API server allows.
func (f *Filter) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Each other method would be another verb to review.
		if r.Method != http.MethodGet && r.Method != http.MethodPost {
			w.Header().Set("Allow", "GET, POST")
			http.Error(w, "the methods are GET and POST", http.StatusMethodNotAllowed)
			return
		}
		if no := f.decide(r); no != nil {
			f.refused.WithLabelValues(no.reason).Inc()
			switch no.code {
			case http.StatusUnauthorized:
				w.Header().Set("WWW-Authenticate", "Bearer")
			case http.StatusTooManyRequests, http.StatusServiceUnavailable:
				w.Header().Set("Retry-After", "1")
			}
			http.Error(w, no.text, no.code)
			return
		}
		conn := connections.FromContext(r.Context())
		conn.MarkProven()
		conn.SetState(connections.Working)
		defer conn.SetState(connections.Sending)
		next.ServeHTTP(w, r)
	})
}

// decide returns what is remembered of the caller, or has the API server review it.
func (f *Filter) decide(r *http.Request) *refusal {
	token, has := bearerToken(r)
	if !has {
		return withoutToken
	}
	key := f.key(token, r.Method, r.URL.Path)
	until, known := f.allowed.Get(key)
	if known && f.clock.Now().Before(until.(time.Time)) { //nolint:errcheck,forcetypeassert // nothing else is put there
		return nil
	}
	if no, has := f.refusals.Get(key); has {
		return no.(*refusal) //nolint:errcheck,forcetypeassert // nothing else is put there
	}
	release, has := f.budget.take(connections.Source(r.RemoteAddr), known)
	if !has {
		return throttled
	}
	defer release()
	no, err := f.review(r.Context(), token, strings.ToLower(r.Method), r.URL.Path)
	switch {
	case err != nil:
		if r.Context().Err() == nil {
			f.failure.Do(func() {
				f.logger.Error(err, "The API server did not review a caller of the metrics port; fairlead_metrics_refused_callers_total counts them")
			})
		}
		return unreviewed
	case no != nil:
		f.allowed.Remove(key)
		f.refusals.Add(key, no, refusedFor)
		return no
	}
	f.allowed.Add(key, f.clock.Now().Add(allowedFor), knownFor)
	return nil
}

// key identifies what was reviewed, and tells nothing of the token.
func (f *Filter) key(token, method, path string) [sha256.Size]byte {
	hash := hmac.New(sha256.New, f.secret[:])
	_, _ = fmt.Fprintf(hash, "%s\n%s\n%s", token, method, path) // which a hash never fails
	return [sha256.Size]byte(hash.Sum(nil))
}

// bearerToken returns the token of a request (RFC 6750).
func bearerToken(r *http.Request) (token string, has bool) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	return token, strings.EqualFold(scheme, "Bearer") && token != ""
}
