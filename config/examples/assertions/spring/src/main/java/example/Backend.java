package example;

import jakarta.servlet.DispatcherType;
import jakarta.servlet.http.HttpServletRequest;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.web.client.RestTemplateBuilder;
import org.springframework.context.annotation.Bean;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.config.http.SessionCreationPolicy;
import org.springframework.security.core.annotation.AuthenticationPrincipal;
import org.springframework.security.oauth2.core.DelegatingOAuth2TokenValidator;
import org.springframework.security.oauth2.jose.jws.SignatureAlgorithm;
import org.springframework.security.oauth2.jwt.Jwt;
import org.springframework.security.oauth2.jwt.JwtAudienceValidator;
import org.springframework.security.oauth2.jwt.JwtClaimNames;
import org.springframework.security.oauth2.jwt.JwtClaimValidator;
import org.springframework.security.oauth2.jwt.JwtDecoder;
import org.springframework.security.oauth2.jwt.JwtIssuerValidator;
import org.springframework.security.oauth2.jwt.JwtTimestampValidator;
import org.springframework.security.oauth2.jwt.NimbusJwtDecoder;
import org.springframework.security.oauth2.server.resource.authentication.JwtAuthenticationConverter;
import org.springframework.security.oauth2.server.resource.authentication.JwtGrantedAuthoritiesConverter;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.util.StringUtils;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** A backend that accepts only requests with an assertion of the gateway: mvn spring-boot:run */
@SpringBootApplication
@RestController
public class Backend {
  public static void main(String[] args) {
    SpringApplication backend = new SpringApplication(Backend.class);
    backend.setDefaultProperties(Map.of("server.address", "127.0.0.1", "server.port", "${PORT:3000}"));
    backend.run(args);
  }

  record User(String id, String type, String username, List<String> roles) {}

  @GetMapping("/**")
  User show(@AuthenticationPrincipal Jwt assertion) {
    return new User(assertion.getSubject(), assertion.getClaimAsString("login_type"),
        assertion.getClaimAsString("username"), assertion.getClaimAsStringList("roles"));
  }

  @Bean
  SecurityFilterChain gatewayOnly(HttpSecurity http) throws Exception {
    return http
        .authorizeHttpRequests(requests -> requests
            // Keys that cannot be fetched are a fault, 500, and no 401: it says nothing about the user.
            .dispatcherTypeMatchers(DispatcherType.ERROR).permitAll()
            .anyRequest().authenticated())
        .oauth2ResourceServer(server -> server
            .bearerTokenResolver(Backend::assertionIn)
            .jwt(jwt -> jwt.jwtAuthenticationConverter(withRoles())))
        // The gateway keeps the sessions.
        .sessionManagement(sessions -> sessions.sessionCreationPolicy(SessionCreationPolicy.STATELESS))
        .build();
  }

  /** Null, and so 401, for an empty header, too. HeaderBearerTokenResolver makes it 500. */
  private static String assertionIn(HttpServletRequest request) {
    String assertion = request.getHeader("X-Login-Assertion");
    return StringUtils.hasText(assertion) ? assertion : null;
  }

  /** The roles of a user, for hasRole() and @PreAuthorize. */
  private static JwtAuthenticationConverter withRoles() {
    JwtGrantedAuthoritiesConverter roles = new JwtGrantedAuthoritiesConverter();
    roles.setAuthoritiesClaimName("roles");
    roles.setAuthorityPrefix("ROLE_");
    JwtAuthenticationConverter converter = new JwtAuthenticationConverter();
    converter.setJwtGrantedAuthoritiesConverter(roles);
    return converter;
  }

  /** Keeps the keys for five minutes, and fetches them again for an unknown key id. */
  @Bean
  JwtDecoder assertions(
      RestTemplateBuilder http,
      @Value("${JWKS_URL:http://127.0.0.1:8081/.well-known/dualgate/jwks.json}") String keys,
      @Value("${ISSUER:dualgate}") String issuer,
      @Value("${AUDIENCE:orders}") String audience) {
    NimbusJwtDecoder decoder = NimbusJwtDecoder.withJwkSetUri(keys)
        .jwsAlgorithm(SignatureAlgorithm.ES256)
        .restOperations(http.connectTimeout(Duration.ofSeconds(5)).readTimeout(Duration.ofSeconds(5)).build())
        .build();
    decoder.setJwtValidator(new DelegatingOAuth2TokenValidator<>(
        new JwtIssuerValidator(issuer),
        new JwtAudienceValidator(audience),
        new JwtClaimValidator<>(JwtClaimNames.EXP, Objects::nonNull),
        // Clocks of two machines differ a little. The default, a minute, would double the lifetime of an assertion.
        new JwtTimestampValidator(Duration.ofSeconds(5))));
    return decoder;
  }
}
