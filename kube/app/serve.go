package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapifilters "k8s.io/apiserver/pkg/endpoints/filters"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/server"
	genericfilters "k8s.io/apiserver/pkg/server/filters"
	"k8s.io/apiserver/pkg/server/flagz"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/apiserver/pkg/server/mux"
	"k8s.io/apiserver/pkg/server/routes"
	"k8s.io/apiserver/pkg/server/statusz"
	"k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes/scheme"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // counts the client's requests in legacyregistry
	"k8s.io/component-base/metrics/prometheus/slis"
	zpages "k8s.io/component-base/zpages/features"
	"k8s.io/klog/v2"

	"fairlead.dev/fairlead/kube/config"
)

// component is what this process calls itself on its pages.
const component = "fairlead-scheduler"

// endpoints are what the server shows.
type endpoints struct {
	config   func() *config.SchedulerConfiguration // as it is now
	registry *prometheus.Registry
	flags    flagz.Reader
	live     []healthz.HealthChecker // fail when the process should be killed
	ready    []healthz.HealthChecker // fail when it cannot do its work yet, or any more
	shadow   shadowed                // nil of a scheduler that is none
	// resources is what pods request; nil where that is not served.
	resources http.Handler
}

// liveness says no while a turn of the scheduler's loop does not end. Who probes is
// told no reason, so that the log says it, too.
func liveness(placer runner) healthz.HealthChecker {
	return healthz.NamedCheck("loop", func(r *http.Request) error {
		err := placer.Stuck()
		if err != nil {
			klog.FromContext(r.Context()).Error(err, "This process is not alive")
		}
		return err
	})
}

// readiness says no until the informers have listed, and again when the
// process was asked to stop.
func readiness(stop context.Context, placer runner) []healthz.HealthChecker {
	return []healthz.HealthChecker{
		healthz.NewShutdownHealthz(stop.Done()),
		healthz.NamedCheck("informers", func(*http.Request) error {
			if len(placer.Unlisted()) > 0 {
				return errors.New("the informers have not listed yet")
			}
			return nil
		}),
	}
}

// serve starts the server, which lives as long as the context, unless the port
// is 0. Who a client is and what it may read is asked of the API server.
func (o *options) serve(living context.Context, e endpoints) error {
	if err := o.serving.MaybeDefaultWithSelfSignedCerts("localhost", nil, []net.IP{net.IPv4(127, 0, 0, 1)}); err != nil {
		return fmt.Errorf("cannot make a certificate for --secure-port; give one by --tls-cert-file and --tls-private-key-file: %w", err)
	}
	var serving *server.SecureServingInfo
	if err := o.serving.ApplyTo(&serving); err != nil {
		return fmt.Errorf("cannot serve on port %d; --secure-port chooses another, 0 serves nothing: %w", o.serving.BindPort, err)
	}
	if serving == nil {
		return nil
	}
	if o.authentication.RemoteKubeConfigFile == "" {
		o.authentication.RemoteKubeConfigFile = e.config().ClientConnection.Kubeconfig
	}
	if o.authorization.RemoteKubeConfigFile == "" {
		o.authorization.RemoteKubeConfigFile = e.config().ClientConnection.Kubeconfig
	}
	var authentication server.AuthenticationInfo
	if err := o.authentication.ApplyTo(&authentication, serving, nil); err != nil {
		return fmt.Errorf("cannot set up authentication: %w", err)
	}
	var authorization server.AuthorizationInfo
	if err := o.authorization.ApplyTo(&authorization); err != nil {
		return fmt.Errorf("cannot set up authorization: %w", err)
	}
	handler := guarded(e.handler(), authentication.Authenticator, authorization.Authorizer)
	if _, _, err := serving.Serve(handler, time.Second, living.Done()); err != nil {
		return fmt.Errorf("cannot serve on port %d: %w", o.serving.BindPort, err)
	}
	return nil
}

// guarded lets through what the authorizer allows; the authorizer of our
// options always allows /healthz, /livez and /readyz.
func guarded(handler http.Handler, authn authenticator.Request, authz authorizer.UnconditionalAuthorizer) http.Handler {
	resolver := &apirequest.RequestInfoFactory{}
	handler = genericapifilters.WithAuthorization(handler, authz, scheme.Codecs)
	handler = genericapifilters.WithAuthentication(handler, authn, genericapifilters.Unauthorized(scheme.Codecs), nil, nil)
	handler = genericapifilters.WithRequestInfo(handler, resolver)
	handler = genericapifilters.WithCacheControl(handler)
	handler = genericfilters.WithHTTPLogging(handler)
	return genericfilters.WithPanicRecovery(handler, resolver)
}

func (e endpoints) handler() http.Handler {
	paths := mux.NewPathRecorderMux(component)
	healthz.InstallHandler(paths, e.live...)
	healthz.InstallLivezHandler(paths, e.live...)
	healthz.InstallReadyzHandler(paths, e.ready...)
	paths.Handle("/metrics", promhttp.HandlerFor(prometheus.GathererFunc(e.gather), promhttp.HandlerOpts{}))
	slis.SLIMetricsWithReset{}.Install(paths)
	if e.resources != nil {
		paths.Handle("/metrics/resources", e.resources)
	}
	paths.HandleFunc("/configz", e.configz)
	if e.shadow != nil {
		paths.Handle("/shadow", e.shadow)
	}
	if e.config().EnableProfiling {
		routes.Profiling{}.Install(paths)
	}
	if utilfeature.DefaultFeatureGate.Enabled(zpages.ComponentFlagz) {
		flagz.Install(paths, component, e.flags)
	}
	if utilfeature.DefaultFeatureGate.Enabled(zpages.ComponentStatusz) { // last, as it lists the others
		statusz.Install(paths, component, statusz.NewRegistry(compatibility.DefaultBuildEffectiveVersion(), statusz.WithListedPaths(paths.ListedPaths())))
	}
	return paths
}

// configz shows the configuration in the shape that components of Kubernetes
// show theirs.
func (e endpoints) configz(w http.ResponseWriter, _ *http.Request) {
	text, err := json.Marshal(map[string]any{"componentconfig": e.config()})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // a client that went away is not our concern
}
